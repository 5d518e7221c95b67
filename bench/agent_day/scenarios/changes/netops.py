"""An office network; terse, things are replaced by things of other names."""

from __future__ import annotations

from agent_day.gold import fact
from agent_day.script import Scenario, session, turn

SCENARIO = Scenario(
    name="netops", client="claude", place="changes/netops", words="note page plan list date",
    sessions=(
        session(
            turn('give me a rundown of the office network','- uplink: Telefónica, 500/100\n- firewall: OPNsense on the old Supermicro\n- guest wifi: vlan 40, password on the fridge, changed quarterly\n- printers: vlan 20\n- backups: nightly to the NAS in Lena\'s room'),
            turn('vpn?','OpenVPN, 22 users, certificates expire in a year. Split tunnel.'),
            turn('who do i call if uplink dies','The hotline of Telefónica, customer number is in the safe. Bruno knows them best.'),
            turn('mail goes out via?','Outgoing mail leaves through our own Postfix on mx2.'),
            turn('monitoring?','Icinga on a VM, alerts into the channel #net-alerts. Nobody reads it at night.'),
        ),
        session(
            turn('supermicro died. got two Protectli boxes, put opnsense on both w/ carp','Both run, failover takes two seconds. The old box is in the cellar for parts.'),
            turn('openvpn is slow as hell for mac people','WireGuard then. 22 configs generated and mailed, each key lives on one device only. I left the tunnel split.'),
            turn('our mails land in spam everywhere','The address range of our uplink is on two lists. Outgoing mail goes through Mailjet now, mx2 only receives.'),
            turn('bruno quit','I put Sanne where he was in the contact sheet.'),
        ),
        session(
            turn('fibre is here! Deutsche Glasfaser, gigabit both ways. old line stays 3 months as fallback','Switched over in the lunch break; 940 both ways measured. The old one takes over if it fails.'),
            turn('nas is full','Backups go to the object store in Falkenstein since last night, encrypted. The NAS keeps pictures only.'),
            turn('alerts at night?','They ring the duty phone from now on, if something is down for ten minutes.'),
            turn('guest password on the fridge is silly','There is a voucher printer at reception instead; each is good for a day.'),
        ),
    ),
    facts=(
        fact("uplink", "changed", "uplink", r'glasfaser|940|gigabit', was=(r'uplink: telef',)),
        fact("firewall", "changed", "firewall", r'protectli|both run, failover', was=(r'firewall: opnsense on the old',)),
        fact("vpn", "changed", "vpn", r'wireguard', was=(r'openvpn, 22',)),
        fact("mailout", "changed", "mailout", r'mailjet', was=(r'own postfix',)),
        fact("contact", "changed", "contact", r'sanne', was=(r'bruno knows',)),
        fact("backups", "changed", "backups", r'falkenstein|object store', was=(r'nightly to the nas',)),
        fact("alerts", "changed", "alerts", r'duty phone', was=(r'nobody reads it at night',)),
        fact("guest", "changed", "guest", r'voucher', was=(r'password on the fridge, changed',)),
    ),
    questions=(),
)  # fmt: skip
