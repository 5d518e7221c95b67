"""A data science team that predicts churn, through Codex. Short prompts with numbers; answers with tables."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import log, source
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "feature churn segment tenure score month cohort label split usage"

LEAK = session(
    turn(
        "AUC jumped from .81 to .97 after Lena's features went in. too good. look at what's happening before we show it to anyone",
        Run("python -m churn.importance --top 10", "days_since_ticket 0.412\ntenure 0.081\nusage_drop 0.077\n…"),
        Read(
            "churn/features/support.py",
            source(
                "churn/features/support.py",
                130,
                W,
                "    last = tickets.groupby('customer').opened.max()  # whole table, no cutoff",
            ),
        ),
        "`days_since_ticket` takes the newest ticket of the whole table, including those opened after the cutoff, and people who leave open a ticket to do so. The model reads the label off that column. "
        "With tickets cut at the reference date the AUC is 0.812 again, which is what I would believe.",
    ),
    turn(
        "good. fix and write down 0.812 as our baseline. window is still the last 12 months of customers, right?",
        Edit(
            "churn/features/support.py",
            "tickets.groupby('customer').opened.max()",
            "tickets[tickets.opened < cutoff].groupby('customer').opened.max()",
        ),
        Edit("conf/train.yaml", "train_window_months: 12", "train_window_months: 12  # customers"),
        Run("python -m churn.train", log(70, W, "validation auc=0.8121 logloss=0.3377")),
        "Baseline is AUC 0.812 on the January snapshot (2026-01-31). Training covers customers of the last 12 months; features look back 90 days from the reference date.",
    ),
    turn(
        "Use the viridis palette for every plot, never jet. Omar is colour blind and can't read ours. Also fixed seeds everywhere, 20260 please.",
        Edit("churn/plots.py", "cmap='jet'", "cmap='viridis'"),
        "All eleven plots use viridis, and `churn/seeds.py` sets 20260 for numpy, sklearn and lightgbm.",
    ),
    turn(
        "where's the warehouse and how do I get in",
        Read("conf/warehouse.yaml", source("conf/warehouse.yaml", 30, W)),
        "`wh-analytics.example:5433`, PostgreSQL 15.6, role `churn_ro` through `aws-vault exec analytics`. Writing goes only to the schema `sandbox_churn`.",
    ),
)

IMBALANCE = session(
    turn(
        "only 4% leave. try SMOTE, undersampling, class weights. table please",
        Run("python -m churn.compare --strategies smote,under,weights,none --folds 5", log(120, W, "done in 2311 s")),
        "| strategy | AUC | recall at 10 % | calibration error |\n|---|---|---|---|\n| none | 0.812 | 0.41 | 0.011 |\n| class weights | 0.815 | 0.44 | 0.019 |\n| undersampling | 0.809 | 0.43 | 0.062 |\n| SMOTE | 0.804 | 0.42 | 0.118 |\n\n"
        "SMOTE ruins the calibration and ranks no better: the synthetic customers sit between segments that do not mix. Class weights give a little recall for almost nothing.",
    ),
    turn(
        "weights it is",
        Edit("conf/train.yaml", "class_weight: null", "class_weight: balanced_subsample"),
        "`class_weight: balanced_subsample` in `conf/train.yaml`.",
    ),
    turn(
        "nightly notebook died again",
        Run("tail -n 80 runs/nightly.log", log(70, W, "nbclient.exceptions.DeadKernelError: Kernel died\nexit 137")),
        Read("notebooks/nightly.py", source("notebooks/nightly.py", 90, W, "frame = pd.read_sql(everything, engine)")),
        "Exit 137, so the kernel was killed for memory: the notebook reads all 41 million usage rows into pandas before it filters. Pushing the filter into the query brings the peak from 58 GB to 6 GB.",
    ),
    turn(
        "do that. how do we run it by hand",
        Edit("notebooks/nightly.py", "pd.read_sql(everything, engine)", "pd.read_sql(for_month(month), engine)"),
        Run("papermill notebooks/nightly.ipynb runs/out.ipynb -p month 2026-01", log(40, W, "Executing: 100%")),
        "`papermill notebooks/nightly.ipynb runs/out.ipynb -p month 2026-01`, in the `churn` conda environment. It finished in 11 minutes.",
    ),
)

WINDOW = session(
    turn(
        "february snapshot is in. retrain on it, and take 18 months of customers this time, sales wants the lockdown cohort out of the tail anyway",
        Edit("conf/train.yaml", "train_window_months: 12", "train_window_months: 18"),
        Edit("conf/train.yaml", "snapshot: 2026-01-31", "snapshot: 2026-02-28"),
        Run("python -m churn.train", log(70, W, "validation auc=0.8466 logloss=0.3120")),
        "Trained on the snapshot of 2026-02-28 with 18 months of customers: AUC 0.847, up from 0.812. The look-back of the features is the same 90 days.",
    ),
    turn(
        "nice, that's the number for the deck. threshold?",
        Run("python -m churn.threshold --budget 3000", "threshold 0.37 -> 2988 customers, precision 0.52"),
        "At 0.37 the campaign reaches 2,988 customers with a precision of 0.52. The retention team can call 3,000 a month, so that uses what they have.",
    ),
    turn(
        "students look off, the scores are all too high",
        Run("python -m churn.calibration --by segment", "business 0.012\nprivate 0.010\nstudent 0.094"),
        Write("notes/students.md", "students: calibration error 0.094, others about 0.01"),
        "Students are overrated by about nine points, since their contracts end in September and look like churn each year. Not fixed: it needs a feature that says whether the contract has a fixed end, and someone must ask billing where that date lives.",
    ),
    ends=False,
)

DECK = session(
    turn(
        "make the lift plot for the deck, 16:9",
        Write("plots/lift.py", source("plots/lift.py", 50, W)),
        Run("python plots/lift.py", "wrote plots/lift.png"),
        "`plots/lift.png`, 1920 by 1080, in our usual colours.",
    ),
    turn(
        "Who may see scores of single customers? legal wrote something",
        Search("scores", "docs/legal.md:14: scores per customer only inside the retention team"),
        "According to `docs/legal.md`: scores of single customers stay inside the retention team; everybody else gets segments of at least 50 customers.",
    ),
)

SCENARIO = Scenario(
    name="notebook", client="codex", place="ds/churn", words=W, ending="py",
    sessions=(LEAK, IMBALANCE, WINDOW, DECK),
    facts=(
        fact("leak", "rootcause", "days_since_ticket leaked the label: it took tickets from after the cutoff.", (r"days_since_ticket|newest ticket", r"after the cutoff|whole table|label|cut at")),
        fact("viridis", "preference", "Plots use viridis, never jet.", r"viridis"),
        fact("seed", "preference", "Seeds are fixed to 20260.", (r"seeds?", r"20260")),
        fact("auc", "changed", "The AUC is 0.847.", (r"auc", r"0\.847|0\.8466"), was=((r"baseline|auc", r"0\.812|0\.8121"),)),
        fact("window", "changed", "Training covers 18 months of customers.", (r"18 months|months: 18",), was=((r"training|customers|window", r"12 months|months: 12"),)),
        fact("snapshot", "changed", "The model is trained on the snapshot of 2026-02-28.", (r"snapshot", r"2026-02-28"), was=((r"snapshot", r"2026-01-31"),)),
        fact("no-smote", "rejected", "SMOTE was rejected: it ruins the calibration.", (r"smote", r"calibration|ranks no better|0\.118|rejected")),
        fact("oom", "rootcause", "The nightly notebook was killed for memory since it read all usage rows before filtering.", (r"memory|137|58 GB", r"usage rows|before it filters|filter|kernel")),
        fact("papermill", "command", "papermill notebooks/nightly.ipynb runs/out.ipynb -p month runs it by hand.", r"papermill notebooks/nightly"),
        fact("students", "open", "Open: students are overrated; needs a feature for a fixed contract end, ask billing.", (r"students?", r"overrated|not fixed|fixed end|billing|too high")),
    ),
    questions=(
        question("Why was the model suddenly almost perfect after the new support features?", "days_since_ticket used tickets after the cutoff and so read the label.", (r"days_since_ticket|newest ticket", r"after the cutoff|label|whole table"), kind="rootcause"),
        question("Which AUC do we quote?", "AUC 0.847.", (r"0\.847",), was=((r"auc", r"0\.812"),)),
        question("How many months of customers does training use?", "18 months of customers.", (r"18 months|months: 18",), was=((r"customers", r"12 months"),)),
        question("What date is the data from that the current model has seen?", "The snapshot of 2026-02-28.", r"2026-02-28", was=(r"2026-01-31",)),
        question("How far back do the features look?", "90 days.", r"90 days"),
        question("Why don't we use synthetic oversampling?", "SMOTE ruins the calibration and ranks no better.", (r"smote", r"calibration"), kind="rejected"),
        question("How can the nightly job be started manually?", "papermill notebooks/nightly.ipynb runs/out.ipynb -p month 2026-01", r"papermill notebooks/nightly", kind="command"),
        question("What killed the kernel at night?", "It read all usage rows into pandas, out of memory.", (r"memory|58 GB", r"usage rows|filter"), kind="rootcause"),
        question("Which colours should charts have, and why?", "viridis, since Omar is colour blind.", r"viridis", kind="preference"),
        question("What is wrong with the scores of students and what does it need?", "Students are overrated; a feature for contracts with a fixed end is needed.", (r"students?", r"overrated|fixed end|billing"), kind="open"),
        question("At which score do we start calling people?", "0.37", r"0\.37\b"),
        question("Where does our warehouse listen and with which role do we log in?", "wh-analytics.example:5433 as churn_ro.", r"churn_ro|wh-analytics"),
    ),
    stands=(
        value("lookback", (r"90 days",)),
        value("warehouse", (r"postgres(ql)?", r"15\.6")),
        value("capacity", (r"3,000 a month|3000",)),
    ),
    foreign=(
        value("meadow", r"meadow|sidekiq"),
        value("pg16", (r"postgres(ql)?\W{0,2}16",)),
        value("fleet", r"fleetctl|linkerd"),
    ),
)  # fmt: skip
