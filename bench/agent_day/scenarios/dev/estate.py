"""The Terraform estate of a museum group. The user gives curt orders with reasons; the answers are numbered, with tables."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, matches, source
from agent_day.script import Compact, Delegate, Edit, Read, Run, Scenario, Search, session, turn

W = "vpc subnet bucket cluster ticket archive role policy gateway replica"

REPLACE = session(
    turn(
        "Every plan wants to replace the ticketing database. Every single one. Nobody applied anything today because of it. Explain, don't touch.",
        Run(
            "terraform plan -no-color",
            log(
                90,
                W,
                "# module.ticketing.random_password.db must be replaced\nPlan: 2 to add, 0 to change, 2 to destroy.",
            ),
        ),
        Search("keepers", "modules/ticketing/db.tf:22:  keepers = { rotated = timestamp() }"),
        Read(
            "modules/ticketing/db.tf", source("modules/ticketing/db.tf", 90, W, "  keepers = { rotated = timestamp() }")
        ),
        "1. `random_password.db` has `keepers = { rotated = timestamp() }`.\n2. `timestamp()` differs on every plan, so the password is new on every plan.\n3. The snapshot module takes the password into its name, and a new name means a new database.\n4. It came in with Monday's merge about rotation. Nothing is wrong with the database itself.",
    ),
    turn(
        "Good. Replace that with a rotation date in the variables, then plan again. And no count in new modules, for_each only. I've had it with resources moving because somebody deleted the first of a list.",
        Edit(
            "modules/ticketing/db.tf", "keepers = { rotated = timestamp() }", "keepers = { rotated = var.rotated_on }"
        ),
        Run("terraform plan -no-color", log(60, W, "No changes. Your infrastructure matches the configuration.")),
        "1. The plan is empty.\n2. Rotation happens when `rotated_on` is edited; like all credentials the password is read out of Parameter Store.\n3. No module of ours that I touched uses `count`; two others do, `modules/dns` and `modules/bastion`.",
    ),
    turn(
        "New colleague starts Monday. Networking gets signed off by Beatriz Falk, databases too, I'll tell them that myself. Give me the other house rules on one screen: where state lives, when we apply, how, certificates.",
        Read("README.md", source("README.yaml", 60, W)),
        "| topic | rule |\n|---|---|\n| state | bucket `orrery-state`, key per museum |\n| apply window | Tuesdays and Thursdays, 9 to 11 |\n| emergency fixes | any time, two people on the call |\n| how | `terraform apply plan.out`, only with a saved plan |\n"
        "| TLS certificates | issued by the central CA, 90 days |\n",
    ),
)

TOOLS = session(
    turn(
        "Consultant says Terragrunt. Eleven museums, eleven near-identical folders. Evaluate, honestly, max ten lines.",
        Delegate(
            "Evaluate Terragrunt",
            "Compare our eleven museum folders with what Terragrunt would make of them; count lines and the risks of migrating state.",
            "Folders differ in 14 variables. Terragrunt would save about 380 lines of backend blocks. Migration: 11 states, each with a moved key. Two of the team know it. for_each over a map of museums in one root would lock all museums together.",
        ),
        "1. Saves about 380 lines, all of them backend blocks.\n2. Costs: eleven state migrations and a second tool that two of us know.\n3. A partial backend config per museum saves 300 of these lines with no new tool.\n4. I would do 3.",
    ),
    turn(
        "Do 3. Terragrunt is out, I'll tell the consultant. And every resource carries the tag cost_centre, no exceptions, accounting sends me lists.",
        Edit("museums/shared/backend.hcl", "", 'bucket = "orrery-state"\nencrypt = true'),
        Run("tflint --recursive", log(70, W, "12 issue(s) found: missing tag cost_centre"), failed=True),
        Run("tflint --recursive", log(20, W, "0 issue(s) found")),
        "1. Backend blocks are down from 412 lines to 96.\n2. Twelve resources lacked `cost_centre`; they have it.\n3. A tflint rule enforces it in CI.",
    ),
    turn(
        "Licence. Lawyers don't like HashiCorp's. We go OpenTofu, all of us, this week. Check our modules, then change CI.",
        Run(
            "tofu init && tofu plan -out plan.out",
            log(80, W, "No changes. Your infrastructure matches the configuration."),
        ),
        Run("git grep -l 'hashicorp/setup-terraform'", ".ci/plan.yml\n.ci/apply.yml"),
        "1. All eleven roots plan empty under OpenTofu 1.7.\n2. CI uses `tofu` in both pipelines.\n3. By hand it is `tofu apply plan.out`; the rule about the saved plan holds as ever.\n4. State files need no change.",
    ),
    turn(
        "The ticket shop was slow at the opening of the night of museums. 40 seconds. CPU was bored. Why?",
        Run(
            "aws cloudwatch get-metric-data --cli-input-json file://ops/night.json",
            log(120, W, "natgw ErrorPortAllocation max=18211"),
        ),
        Read("modules/network/nat.tf", source("modules/network/nat.tf", 70, W)),
        "1. All shops leave through one NAT gateway.\n2. Each payment opens a connection of its own to the same address of the payment provider; a gateway has 55,000 ports per destination.\n3. At 20:00 they ran out: 18,211 failed allocations within a minute, and the clients waited for their retries.\n4. Keep-alive in the shop's payment client brings it to about 900 ports.",
    ),
)

WINDOW = session(
    turn(
        "The museums complained: school classes book in the mornings and we shake the floor. We apply on Wednesday afternoons, 14 to 16. Emergencies as ever.",
        Edit(
            ".ci/apply.yml",
            "if: inputs.force || steps.window.outputs.open",
            "if: inputs.force || steps.calendar.outputs.open",
        ),
        "1. CI lets an apply through on Wednesdays between 14 and 16.\n2. `force` with two names still works at any time.",
    ),
    turn(
        "Security wants one place for credentials. It's Vault, vault.orrery.example, they run it. Move ticketing first. Then the rest. Tell me when no module is left.",
        Search("aws_ssm_parameter", matches(13, "tf", W, 'data "aws_ssm_parameter" "this"')),
        Run("tofu plan -no-color", log(70, W, "Plan: 0 to add, 13 to change, 0 to destroy.")),
        Run("tofu apply plan.out", log(40, W, "Apply complete! Resources: 0 added, 13 changed, 0 destroyed.")),
        Compact(
            "The user set a new apply window and wants all credentials in Vault. The assistant moved all thirteen lookups."
        ),
        "1. None is left: all thirteen lookups read from `vault.orrery.example`.\n2. CI logs in by its own identity, no token is stored.\n3. Certificates have nothing to do with it and come from the central CA as ever.",
    ),
    turn(
        "Network reviews: send them to Henrik Osei, he's been hired for exactly that. Beatriz has enough with the databases.",
        Read("CODEOWNERS", source("CODEOWNERS.yaml", 20, W)),
        "1. `modules/network` and `modules/dns` request a review of Henrik Osei.\n2. `modules/*/db.tf` still requests Beatriz Falk.",
    ),
    turn(
        "What's open on NAT. Two lines.",
        "1. Open: two more gateways, one per zone, so that a zone can fail; the elastic IPs are on the payment provider's allow list, and they need ten working days for new ones.\n2. I have not written to them, that has to come from you.",
    ),
)

SCENARIO = Scenario(
    name="estate", client="claude", place="infra/orrery", remote="git@git.example.org:orrery/estate.git", words=W, ending="tf",
    sessions=(REPLACE, TOOLS, WINDOW),
    facts=(
        fact("timestamp", "rootcause", "Each plan replaced the database since timestamp() in the keepers made a new password each time.", (r"timestamp\(\)", r"every plan|keepers|password")),
        fact("for-each", "preference", "No count in new modules, for_each only.", (r"for_each only|no count",)),
        fact("no-terragrunt", "rejected", "Terragrunt is out; partial backend configs do.", (r"terragrunt is out",), (r"partial backend config", r"no new tool|second tool")),
        fact("ports", "rootcause", "The shop was slow since all payments left through one NAT gateway and its ports ran out.", (r"nat gateway|ports", r"ran out|55,000|failed allocations")),
        fact("state", "fact", "The state lives in the bucket orrery-state, one key per museum.", (r"orrery-state",)),
        fact("apply-window", "changed", "Applies happen on Wednesdays, 14 to 16.", (r"wednesdays?", r"14 (to|and) 16"), was=((r"tuesdays and thursdays",),)),
        fact("tool", "changed", "By hand it is tofu apply plan.out.", (r"tofu apply plan\.out",), was=((r"terraform apply plan\.out",),)),
        fact("secrets", "changed", "Secrets are read from vault.orrery.example.", (r"vault\.orrery\.example",), was=((r"parameter store",),)),
        fact("network-review", "changed", "Henrik Osei reviews networking.", (r"henrik osei",), was=((r"networking gets signed off by beatriz",),)),
        fact("nat-zones", "open", "Open: two more NAT gateways, one per zone; the payment provider needs ten working days for the IPs.", (r"gateways", r"one per zone|ten working days|allow list")),
    ),
    questions=(
        question("Ticketing DB wanted to be recreated all the time. Reason?", "timestamp() in the keepers of the password.", (r"timestamp\(\)",), kind="rootcause"),
        question("Which hours may I roll out changes in?", "Wednesdays, 14 to 16.", (r"wednesdays?", r"14 (to|and) 16"), was=((r"tuesdays and thursdays",),)),
        question("Exact command to bring a saved plan live?", "tofu apply plan.out", (r"tofu apply",), was=((r"terraform apply plan\.out",),)),
        question("Passwords and API keys: which system?", "Vault at vault.orrery.example.", (r"vault\.orrery\.example",), was=((r"parameter store",),)),
        question("Who has to look at a change of subnets?", "Henrik Osei.", (r"henrik",), was=((r"networking gets signed off by beatriz",),)),
        question("Consultant's wrapper for the eleven folders: taken?", "No, Terragrunt is out.", (r"terragrunt is out",), (r"partial backend config",), kind="rejected"),
        question("Shop crawled during the long night. Bottleneck?", "Ports of the one NAT gateway ran out.", (r"nat gateway", r"ports|ran out|55,000"), kind="rootcause"),
        question("What does accounting require on everything we create?", "The tag cost_centre.", (r"cost_centre",), kind="preference"),
        question("How do I make several of one thing in a module?", "for_each only, no count.", (r"for_each only",), (r"uses `count`",), kind="preference"),
        question("What blocks surviving the loss of a zone?", "New gateways need the provider's allow list; ten working days.", (r"ten working days|allow list",), kind="open"),
        question("Bucket with the state?", "orrery-state", r"orrery-state"),
    ),
    stands=(
        value("emergency", (r"emergency fixes", r"any time"), (r"`force`", r"any time")),
        value("db-review", (r"beatriz falk, databases too",), (r"databases", r"beatriz has enough"), (r"db\.tf`", r"beatriz falk")),
        value("certificates", (r"certificates", r"central CA")),
        value("saved-plan", (r"saved plan",)),
    ),
    foreign=(
        value("gapless", r"gapless|exoplayer"),
        value("wishes", r"works council|rota-stage"),
        value("lyon", r"heure_début|mart_orders"),
    ),
)  # fmt: skip
