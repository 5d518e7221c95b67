"""A data scientist with notebooks: numbers everywhere, hedged findings, through Gemini CLI."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, session, turn

W = "cohort feature fold sample metric split label window baseline column"

SCENARIO = Scenario(
    name="churn", client="gemini", place="ds/churn-2026", words=W, ending="py",
    sessions=(
        session(
            turn("Validation AUC is .93 and I don't believe it. Production scored .71 on the October cohort. Where does the gap come from?",
                 Run("python leak_check.py", log(60, W, "support_tickets_30d importance 0.41")),
                 "Most of the .93 rests on one column. `support_tickets_30d` is computed at export time, so for people who left it contains the cancellation call itself. Recomputed as of the prediction date, validation falls to .74, which is about what production saw."),
            turn("Knew it. Recompute all window features as of prediction date then.",
                 Edit("features/windows.py", "asof=export_date", "asof=row.predicted_at"),
                 "All fourteen window features take the prediction date. Only tickets and logins moved visibly."),
            turn("What's the setup again, for the methods slide: horizon, splits, sampling?",
                 Read("config/train.yaml", source("config/train.yaml", 40, W)),
                 "- horizon: 60 days\n- splits: by calendar month, last two months held back\n- negatives down-sampled 4:1, weights restore the prior\n- early stopping patience 50 rounds\n- seeds 11, 12, 13; the median is reported"),
            turn("Which table do I join for plan prices? There are like four",
                 Run("bq ls billing", log(14, W, "plan_prices_v1 plan_prices_v3 plan_price_hist")),
                 "Use `billing.plan_price_hist`, one row per plan and validity interval. `plan_prices_v3` has only today's prices, so joins on the past come out wrong by the last increase."),
            turn("Plots: colour-blind palette, no pie charts, axes from zero. Marketing cropped one last week and the board drew the wrong conclusion.",
                 "The plotting helper uses Okabe-Ito now, bars begin at zero, and `pie()` raises."),
        ),
        session(
            turn("Try a sequence model on the raw events? Everybody at the meetup swears on them.",
                 Run("python train_gru.py --seeds 3", log(80, W, "val_auc .752 .748 .755")),
                 ".75 on the median, against .74 of the trees. Training takes nine hours on the GPU box instead of four minutes, and the retention team could no longer see which behaviour drives a score. The difference is inside the spread between months."),
            turn("Not worth it then. Trees.",
                 "Trees stay. The notebook with the GRU is in `attic/`, with these numbers on top."),
            turn("Calibration plot looks like a staircase in the upper third. Why would that be",
                 Run("python calib.py", log(30, W, "isotonic n=212")),
                 "Isotonic regression was fitted on 212 positives, so the upper third rests on some nine points; each becomes a step. Platt scaling is smooth there, and its Brier score is even a hair better, .0812 against .0817."),
            turn("ok Platt.",
                 Edit("model/calibrate.py", "IsotonicRegression()", "PlattScaling()"),
                 "Switched. The staircase is gone."),
            turn("Who gets the weekly scores? Retention wants to know whom to nag.",
                 "The job mails a link to Delphine Marchetti every Monday; the CSV goes to `gs://churn-out/weekly/`. The monthly deck is for the board and comes from you."),
            turn("And at what score do they call a customer",
                 "They call from .35 upwards, which is about 900 people a week. Emails with a voucher begin at .20."),
        ),
        session(
            turn("Retention can only phone 400 a week from now on, two people left. Adjust so that they get the top 400 and the voucher mail stays where it is.",
                 Run("python lift.py", log(24, W, "top400 threshold .48")),
                 Edit("serve/thresholds.yaml", "call: 0.35", "call: 0.48"),
                 "Calls begin at .48, that is about 400 people in an average week. Vouchers as before."),
            turn("Finance thinks in quarters. Could we predict further ahead without it falling apart?",
                 Run("python horizon.py", log(30, W, "60d .742 90d .731 120d .694")),
                 "Three months costs one point of AUC (.731), four months nearly five. I would go to ninety and no further."),
            turn("Ninety it is, retrain.",
                 Edit("config/train.yaml", "horizon_days: 60", "horizon_days: 90"),
                 "Retrained with all three seeds. Median .731, calibration fine. Splits and sampling are unchanged."),
            turn("Delphine's on sabbatical, the nag list goes to Oskar Brandvold.",
                 "Done, next Monday's link is his."),
            turn("What's loose?",
                 "Two ends: nobody has decided how customers with two contracts are counted (legal has the question since the 3rd), and the drift monitor has no threshold for the login feature yet."),
        ),
        session(
            turn("AUC dropped to .69 on last month and I get asked why.",
                 Run("python drift.py", log(50, W, "psi logins_7d .38")),
                 "The app began to keep people signed in with version 8.2, so logins per week halved for everybody on it. The model reads that as people drifting away. Counting app opens instead brings .73 back."),
            turn("Use opens then. And put random seeds into every report, I could not reproduce my own table from March.",
                 "Opens are in, and each report prints seeds, commit and data snapshot in its footer."),
        ),
    ),
    facts=(
        fact("leak", "rootcause", "support_tickets_30d leaked the cancellation call since it was computed at export time.", (r"tickets", r"export time|cancellation call")),
        fact("price-table", "fact", "Plan prices of the past: billing.plan_price_hist.", (r"plan_price_hist",)),
        fact("plots", "preference", "Plots: colour-blind palette, no pies, axes from zero.", (r"pie charts|colour-blind|no pies",)),
        fact("no-gru", "rejected", "The sequence model was not worth it; trees stay.", (r"trees stay|not worth it",)),
        fact("platt", "rootcause", "The calibration was a staircase since isotonic rested on nine points; Platt now.", (r"isotonic|platt",)),
        fact("call-threshold", "changed", "Calls begin at a score of .48.", (r"\.48",), was=((r"call from \.35|call: 0\.35",),)),
        fact("horizon", "changed", "The horizon is ninety days.", (r"ninety|90",), was=((r"horizon: 60 days|horizon_days: 60",),)),
        fact("weekly-list", "changed", "Oskar Brandvold gets the weekly list.", (r"oskar brandvold",), was=((r"link to delphine marchetti",),)),
        fact("two-contracts", "open", "Open: how customers with two contracts count; legal has the question.", (r"two contracts",)),
        fact("logins", "rootcause", "Logins halved as the app keeps people signed in since 8.2; opens instead.", (r"signed in|app opens",)),
    ),
    questions=(
        question("Why was the model so much better offline than live?", "Tickets were computed at export time and held the cancellation call.", (r"tickets", r"export time|cancellation"), kind="rootcause"),
        question("How far into the future do we look?", "Ninety days.", (r"ninety|90 days",), was=((r"horizon: 60 days",),)),
        question("From which probability on is somebody phoned?", "From .48.", (r"\.48",), was=((r"call from \.35",),)),
        question("To whom does the Monday file go?", "Oskar Brandvold.", (r"oskar",), was=((r"link to delphine",),)),
        question("Did the deep learning attempt pay off?", "No, trees stay.", (r"trees stay",), (r"\.75 on the median",), kind="rejected"),
        question("What caused the steps in the reliability diagram?", "Isotonic on too few positives.", (r"isotonic", r"212|nine points|positives"), kind="rootcause"),
        question("Which relation has the historic tariffs?", "billing.plan_price_hist.", (r"plan_price_hist",)),
        question("What was behind last month's fall in quality?", "The app keeps people signed in, so logins halved.", (r"signed in",), kind="rootcause"),
        question("What do the lawyers still have to answer?", "How customers with two contracts count.", (r"two contracts",), kind="open"),
        question("Any rules for charts?", "Colour-blind palette, no pies, axes from zero.", (r"pie", r"palette|zero|raises"), kind="preference"),
        question("How many non-leavers are kept per leaver?", "4:1.", (r"4:1",)),
    ),
    stands=(
        value("voucher", (r"voucher begin at \.20",)),
        value("splits", (r"splits: by calendar month",)),
    ),
)  # fmt: skip
