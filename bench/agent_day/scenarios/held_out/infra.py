"""Infrastructure as code. The user is busy and writes in fragments; another project's folder has the same name."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Compact, Edit, Read, Run, Scenario, Search, Write, session, turn

W = "cluster node subnet bucket policy role ingress volume secret namespace"

OUTAGE = session(
    turn(
        "prod ingress flapped 03:10-03:25, paged me. why",
        Run("kubectl -n edge describe pods", log(160, W, "Last State: Terminated  Reason: OOMKilled  Exit Code: 137")),
        Run("kubectl -n edge logs deploy/ingress --previous", log(220, W, "reloading 1412 servers")),
        "The controller ran out of memory at 03:10: the nightly job that syncs preview hosts added 900 of them, and each reload holds the old and the new table at once. 512 MiB is enough for about 600 hosts. "
        "Previews could go to their own controller, so that they never share a table with production.",
    ),
    turn(
        "ok split them. prod only real hosts",
        Write("modules/ingress/preview.tf", source("modules/ingress/preview.tf", 60, W)),
        Run("terraform plan -out plan.bin", log(80, W, "Plan: 6 to add, 1 to change, 0 to destroy.")),
        Run("terraform apply plan.bin", log(60, W, "Apply complete! Resources: 6 added, 1 changed, 0 destroyed.")),
        "Previews have a controller of their own, class `preview`. The production one is back at 140 MiB.",
    ),
    turn(
        "never apply from a laptop again tho, that was an exception. plans go through atlantis, always",
        "Understood: I only write the change and open the pull request; Atlantis plans, and a comment `atlantis apply` applies it.",
    ),
    turn(
        "k8s version + region for the audit sheet",
        Run("kubectl version", "Server Version: v1.29.6"),
        "Kubernetes 1.29.6, region eu-north-1. Staging is a cluster of its own in the same region, also with three node groups. Alerts go to Opsgenie.",
    ),
    turn(
        "db sizes?",
        Read("envs/prod/db.tf", source("envs/prod/db.tf", 50, W, 'instance_class = "db.r6g.large"')),
        "Production has db.r6g.large with 500 GB, staging db.t4g.medium with 50 GB. Backups are kept for 14 days in production and for 3 in staging.",
    ),
)

COSTS = session(
    turn(
        "bill went up 40% in may. where",
        Run("python tools/costs.py --month 2026-05 --by tag", log(70, W, "NatGateway-Bytes 4120.33 USD (+3890)")),
        Search("nat_gateway", "modules/network/main.tf:88:  single_nat_gateway = true"),
        "Traffic through the NAT gateway: 3,890 of the additional dollars. Since the images moved to the registry in us-east-1, each node pulls them across the ocean and through NAT. A pull-through cache in eu-north-1 plus a gateway endpoint for S3 removes nearly all of it.",
    ),
    turn(
        "spot for everything then? sales rep keeps pushing savings plans instead",
        "Not for everything. Workers yes: they take a restart in stride, and spot saves 68 % there. The two database proxies and ingress should stay on demand. A savings plan would tie us to this size for three years while the team talks about leaving for bare metal next year, so I would leave that alone.",
    ),
    turn(
        "yep. no savings plan, workers on spot. go",
        Edit("envs/prod/nodes.tf", 'capacity_type = "ON_DEMAND"', 'capacity_type = "SPOT"'),
        Run("gh pr create --fill", "https://git.example.com/karst/platform/pull/412"),
        "Pull request 412: workers on spot with four instance types, ingress and proxies on demand.",
    ),
    turn(
        "how do i get a shell in prod without the vpn, vpn is down",
        "`aws ssm start-session --target $(tools/bastion prod)`, with the role `break-glass`. It is logged and pages the security channel, so say hello there first.",
    ),
)

UPGRADE = session(
    turn(
        "1.29 is EOL next month. plan for 1.31 on prod",
        Run("pluto detect-helm -o wide", log(40, W, "flowcontrol.apiserver.k8s.io/v1beta2  removed in 1.29")),
        Edit("envs/prod/cluster.tf", 'cluster_version = "1.29"', 'cluster_version = "1.31"'),
        Compact(
            "Planning the upgrade of the production cluster. Costs went down after spot workers and the pull-through cache."
        ),
        "Nothing of ours uses an API that goes away. Control plane first, then the node groups one at a time; staging has been on 1.31 for two weeks without trouble.",
    ),
    turn(
        "merged + applied yesterday night. went ok?",
        Run("kubectl get nodes", log(14, W, "ip-10-2-4-17  Ready  v1.31.4")),
        "Yes. Production runs Kubernetes 1.31.4 on all eleven nodes, and no pod was evicted twice.",
    ),
    turn(
        "legal wants backups 35 days. prod",
        Edit("envs/prod/db.tf", "backup_retention_period = 14", "backup_retention_period = 35"),
        "Production keeps database backups for 35 days with the next apply, pull request 431. Staging has 3 as before.",
    ),
    turn(
        "on-call moves from opsgenie to pagerduty btw, new integration key is in vault under oncall/pagerduty",
        Edit("modules/alerts/main.tf", "opsgenie", "pagerduty"),
        "Alerts go to PagerDuty, the key is read from `oncall/pagerduty`. A test page arrived.",
    ),
    turn(
        "what did i forget",
        Search("TODO", "modules/dns/main.tf:14:# TODO dnssec"),
        "The state bucket: it still has no replication, and the drill in March counted on it. You wanted it in eu-west-1, with its own key. Nobody has begun.",
    ),
    ends=False,
)

SCENARIO = Scenario(
    name="infra", client="claude", place="karst/platform", remote="git@git.example.com:karst/platform.git", words=W, ending="tf", tags=frozenset({"quick"}),
    sessions=(OUTAGE, COSTS, UPGRADE),
    facts=(
        fact("oom", "rootcause", "Ingress ran out of memory when 900 preview hosts were added.", (r"memory|oomkilled|512 MiB", r"preview|hosts|reload")),
        fact("atlantis", "preference", "Never apply from a laptop; plans go through Atlantis.", (r"atlantis", r"laptop|always|apply|plans")),
        fact("k8s", "changed", "Production runs Kubernetes 1.31.4.", (r"kubernetes|k8s|production|cluster_version", r"1\.31"), was=((r"kubernetes|k8s", r"1\.29(\.6)?\b"),)),
        fact("backups", "changed", "Production keeps database backups for 35 days.", (r"backup", r"\b35\b"), was=((r"backups?", r"14 days|period = 14"),)),
        fact("nat", "rootcause", "The bill rose since nodes pull images from us-east-1 through NAT.", (r"\bnat\b", r"us-east-1|images|pull|bytes")),
        fact("no-savings-plan", "rejected", "No savings plan.", (r"savings plan", r"no savings|leave that alone|tie us|rejected")),
        fact("spot", "decision", "Workers run on spot; ingress and proxies on demand.", (r"workers?", r"\bspot\b")),
        fact("ssm", "command", "aws ssm start-session --target $(tools/bastion prod) without the VPN.", r"ssm start-session"),
        fact("pager", "changed", "Alerts go to PagerDuty.", r"pagerduty", was=((r"alerts|pages|on-call", r"\bto opsgenie"),)),
        fact("replication", "open", "Open: the state bucket has no replication; it is to be in eu-west-1.", (r"state bucket|replication", r"no replication|eu-west-1|nobody has begun|has begun")),
    ),
    questions=(
        question("Why did ingress go down at three in the morning?", "It ran out of memory after 900 preview hosts were added.", (r"memory", r"preview|hosts"), kind="rootcause"),
        question("Which Kubernetes version does production have?", "Kubernetes 1.31.4.", (r"1\.31\.4|version = .{0,2}1\.31",), was=((r"kubernetes", r"1\.29\.6"),)),
        question("How long are production database backups kept?", "Backups are kept for 35 days.", (r"backup", r"\b35\b"), was=((r"backups?", r"14 days"),)),
        question("What drove the costs up in May?", "Image pulls from us-east-1 through the NAT gateway.", (r"\bnat\b", r"us-east-1|images|across"), kind="rootcause"),
        question("Did we buy the savings plan?", "No savings plan, it would tie us for three years.", (r"no savings plan|tie us|leave that alone",), kind="rejected"),
        question("How do I get into production when the VPN is down?", "aws ssm start-session with the role break-glass.", r"ssm start-session", kind="command"),
        question("Am I allowed to run terraform apply on my machine?", "No, always through Atlantis, never from a laptop.", (r"atlantis", r"laptop|always|pull request"), kind="preference"),
        question("What is missing for the terraform state?", "The state bucket has no replication to eu-west-1.", (r"replication", r"state|eu-west-1"), kind="open"),
        question("Which instance class does the staging database use?", "db.t4g.medium.", r"t4g\.medium"),
        question("Where do our alerts go?", "To PagerDuty.", r"pagerduty", was=((r"alerts", r"\bto opsgenie"),)),
        question("Which machines may not be on spot?", "Ingress and the database proxies stay on demand.", (r"on demand", r"ingress|prox")),
    ),
    stands=(
        value("staging-backups", (r"staging", r"\b3\b")),
        value("staging-db", r"t4g\.medium"),
        value("region", r"eu-north-1"),
    ),
    foreign=(value("shop", r"lumen-orders|stripe|meilisearch"), value("shop-redis", (r"redis", r"allkeys-lru|6380"))),
)  # fmt: skip
