"""A glacier flow model in Julia. The user is a scientist with long, careful sentences; the answers are long prose."""

from __future__ import annotations

from agent_day.gold import fact, question, value
from agent_day.noise import diff, log, matches, source, tests
from agent_day.script import Edit, Read, Run, Scenario, Search, Write, session, turn

W = "ice thickness margin flux basal slope member forcing grid calving"

DRIFT = session(
    turn(
        "I am a little worried about our conservation of mass. In the dome experiment, where nothing is added and nothing melts, the total volume shrinks by about 0.3 percent within a thousand model years, and it does so faster the more ragged the margin is. "
        "A reviewer will certainly ask. Could you find where the ice is lost?",
        Run("julia --project=. -t 16 run/benchmark.jl dome", log(150, W, "INFO volume drift=-0.0031 after 1000a")),
        Search("ghost", matches(8, "jl", W, "exchange_ghosts!(H)")),
        Read(
            "src/step.jl",
            source("src/step.py", 130, W, "    q = fluxes(H, s)\n    exchange_ghosts!(H)\n    @. H += dt * div(q)"),
        ),
        "I believe I have it. In `step!` the fluxes are computed first and the ghost cells are exchanged only afterwards, so at the border between two tiles each side works with the neighbour's thickness of the previous step. The two fluxes across such an edge are not exactly opposite, and their sum leaks out of the domain. "
        "The more ragged the margin, the more of these edges carry a steep gradient, which fits your observation. With the exchange moved up by two lines the drift falls to 2e-13, which is round-off.",
    ),
    turn(
        "That is most convincing, thank you. Please move it, and add the dome as a regression test with a tolerance of 1e-10. I would also ask you to keep Greek letters out of the code, beautiful as they are: my co-author's editor shows them as boxes and he then 'repairs' them.",
        Edit("src/step.jl", "q = fluxes(H, s)\n    exchange_ghosts!(H)", "exchange_ghosts!(H)\n    q = fluxes(H, s)"),
        Run(
            "julia --project=. -e 'using Pkg; Pkg.test()'",
            tests(96, W, "Test Summary: | Pass  Total\nmodel         |   96     96"),
        ),
        "The exchange precedes the fluxes, and the dome is test number 96 with the tolerance you asked for. I also renamed the four Greek identifiers that I came across: `rho_ice`, `tau_basal`, `eta` and `dx`.",
    ),
    turn(
        "For the methods section I have to list how the model is run. As far as I remember we use a CFL number of 0.5 for the ice dynamics and the same for the heat solver, 24 ensemble members, and the fields are stored as JLD2. Is that what the code says?",
        Read("src/defaults.jl", source("src/defaults.py", 60, W)),
        "It is, line by line: the dynamics use a CFL number of 0.5, the heat solver uses 0.5 too, the ensemble has 24 members, and fields are stored as JLD2, as are the restart files. One addition you may want to mention is the basal friction exponent, which is 3 throughout.",
    ),
    turn(
        "Splendid. The production runs go to boreas, by the way, in the partition 'long'; I mention it since you asked me about the cluster last week. The revised manuscript is due on 14 March and the abstract for the symposium on 14 March too, so this month will be a busy one.",
        "Understood: production runs on boreas in the partition `long`, manuscript and abstract both due on 14 March. The job script in `slurm/` asks for 48 hours and 16 threads, which suits that partition.",
    ),
)

GPU = session(
    turn(
        "A colleague at the computing centre offered to help us port the model to graphics cards, and he was quite enthusiastic. I would like to know whether the enthusiasm is warranted in our case. Could you measure where the time goes in a typical member?",
        Run(
            "julia --project=. -t 16 run/profile.jl member03",
            log(110, W, "profile: solve=0.71 fluxes=0.12 heat=0.09 io=0.08"),
        ),
        "I profiled member 3 over two hundred years. Seventy-one percent of the time is spent in the sparse solve of the membrane stresses, twelve in the fluxes, nine in the heat solver and eight in writing. The fluxes and the heat solver would profit from a graphics card; the sparse solve, with an incomplete factorisation as its preconditioner, would not, and it would have to be replaced by a multigrid that does not exist in Julia in the form we need. "
        "By Amdahl's law we could hope for a factor of 1.25 in return for some months of work.",
    ),
    turn(
        "A factor of 1.25 does not warrant months of anybody's life. I shall thank him kindly and decline; the model remains on processors. If you see something cheaper that brings a similar gain, I am all ears.",
        Run("julia --project=. run/profile.jl member03 --reuse 5", log(40, W, "profile: solve=0.52")),
        Edit("src/solve.jl", "P = ilu(A)", "P = step % 5 == 0 ? ilu(A) : P"),
        "There is: the preconditioner need not be rebuilt in every step. Rebuilding it in every fifth one costs two more iterations and saves 27 percent of the whole run. The results agree to eight digits.",
    ),
    turn(
        "Wonderful. Now for a puzzle: member 17 crashes in model year 412 with a negative thickness, and it is the only one of them all. It has, as you will see, the warmest forcing.",
        Run(
            "julia --project=. run/member.jl 17 --from 400",
            log(180, W, "ERROR DomainError thickness=-0.8 at (211, 87) year=412.35"),
            failed=True,
        ),
        Read("src/melt.jl", source("src/melt.py", 80, W, "    H .-= dt .* melt_rate.(T, z)")),
        "The forcing as such is innocent. At the cell (211, 87) there are 0.6 m of ice left while the melt of one step amounts to 1.4 m, and `melt!` subtracts it without looking at how much there is. The other members never have so thin a cell in so warm a summer. I limited the melt to what is present and book the remainder as available energy for the ground; member 17 runs through.",
    ),
)

REFEREE = session(
    turn(
        "The second referee has a point which I cannot argue away: at the steep outlet our velocities oscillate from step to step. I tried it by hand over the weekend, and with a safety factor of three tenths for the dynamics the oscillation vanishes entirely, so let us adopt that. The heat equation is well behaved and need not pay for it.",
        Run("julia --project=. -t 16 run/benchmark.jl outlet", log(70, W, "INFO outlet oscillation=0.0002")),
        Write("src/defaults.jl", source("src/defaults.py", 60, W)),
        "I can confirm what you found: the oscillation at the outlet is down to two parts in ten thousand with a CFL number of 0.3 for the dynamics. A member takes some 40 percent longer, most of which the lazier preconditioner gives back. The heat solver is as it has been.",
    ),
    turn(
        "Our friends in Tromsø, who are to compare the results with their radar lines, can read nothing but NetCDF. I would therefore like the fields to be written in that format henceforth; the restart files concern nobody except ourselves and may remain as they are.",
        Run("julia --project=. -e 'using Pkg; Pkg.add(\"NCDatasets\")'", log(18, W, "Updating `Project.toml`")),
        Run("ncdump -h out/member03.nc", log(30, W, '// global attributes: :Conventions = "CF-1.10" ;')),
        "Fields are written as NetCDF with CF attributes, one file per member and century. I checked one with `ncdump`. Restarts are still JLD2, since they hold the preconditioner, which no portable format would take.",
    ),
    turn(
        "The computing centre has granted us four million hours on notus, and I should like everything to be submitted there from today, as the charge on our account elsewhere is used up. Would you adapt the job scripts?",
        Read("slurm/member.sh", source("slurm/member.yaml", 30, W)),
        Run("sbatch --test-only slurm/member.sh", "sbatch: Job 118201 to start on notus-c14 using 32 processors"),
        "The scripts submit to notus. Its nodes have 32 cores, so a member takes all of a node with 32 threads and ends within 31 hours. The modules have other names there, which `slurm/env.sh` takes care of.",
    ),
    ends=False,
)

DATE = session(
    turn(
        "Good news of a kind: in view of the additional runs the editor has given us four more weeks, so the manuscript has to be back with him by 11 April. The symposium is unmoved, alas, in every sense of the word.",
        "That is a relief: the manuscript is due on 11 April then, which leaves room for all 24 members on the new machine with a week to spare. For the symposium the date is as it was.",
    ),
    turn(
        "What, in your view, is still missing in the calving part? I would like to write it into the response letter honestly.",
        Read("src/calving.jl", source("src/calving.py", 90, W)),
        "Honestly: the calving law has not been validated. It is calibrated against two fronts by hand. For a validation we would need the front positions of the 2016 to 2022 survey, which the survey office has promised but not delivered; `run/validate_calving.jl` is an empty shell until they arrive.",
    ),
    turn(
        "Then that is what I shall write. One last wish, as figures seem to be multiplying: every figure should be made by one script in figures/ which can be run on its own, without anything left over in a session from an afternoon of exploring.",
        Run("ls figures", "fig1_dome.jl\nfig2_outlet.jl\nfig3_map.jl\n"),
        Run("git diff HEAD~1 -- figures", diff("figures/fig3_map.py", W, 26)),
        "Figures 1 and 2 satisfy that already. Figure 3 depended on a variable of my own session, I am embarrassed to say; it reads the file by itself now, and `make figures` runs each script in a fresh process.",
    ),
)

SCENARIO = Scenario(
    name="glacier", client="codex", place="research/icecap", words=W, ending="jl",
    sessions=(DRIFT, GPU, REFEREE, DATE),
    facts=(
        fact("ghosts", "rootcause", "Mass leaked since ghost cells were exchanged only after the fluxes had been computed.", (r"ghost cells", r"flux")),
        fact("no-greek", "preference", "No Greek letters in the code.", (r"greek", r"out of the code|renamed|no greek")),
        fact("no-gpu", "rejected", "No port to graphics cards: a factor of 1.25 at most; the model remains on processors.", (r"remains on processors|1\.25",)),
        fact("melt", "rootcause", "Member 17 crashed since the melt of a step exceeded the ice that was left.", (r"melt", r"limited the melt|without looking|0\.6 m|exceeded")),
        fact("cfl", "changed", "The dynamics use a CFL number of 0.3.", (r"dynamics", r"three tenths|CFL number of 0\.3"), was=((r"CFL number of 0\.5 for the ice dynamics|dynamics use a CFL number of 0\.5",),)),
        fact("format", "changed", "Fields are written as NetCDF.", (r"fields", r"netcdf"), was=((r"fields are stored as JLD2",),)),
        fact("cluster", "changed", "Everything is submitted to notus.", (r"\bnotus\b",), was=((r"\bboreas\b",),)),
        fact("manuscript", "changed", "The manuscript is due on 11 April.", (r"11 april",), was=((r"manuscript( is due on| and abstract both due on) 14 march",),)),
        fact("calving", "open", "Open: the calving law is not validated; the survey's front positions are missing.", (r"calving", r"validat|front positions|survey")),
        fact("members", "fact", "The ensemble has 24 members.", (r"24( ensemble)? members",)),
    ),
    questions=(
        question("Where did the ice volume of the dome test disappear to?", "Fluxes were computed ahead of the exchange of ghost cells, so fluxes across tile borders did not cancel.", (r"ghost cells", r"flux|exchange"), kind="rootcause"),
        question("Which safety factor limits the time step of the flow?", "A CFL number of 0.3 for the dynamics.", (r"three tenths|CFL number of 0\.3",), was=((r"CFL number of 0\.5 for the ice dynamics|dynamics use a CFL number of 0\.5",),)),
        question("In what file type do the results get stored for our partners?", "NetCDF.", (r"netcdf",), was=((r"fields are stored as JLD2",),)),
        question("On which machine shall I start the remaining members?", "On notus.", (r"\bnotus\b",), was=((r"\bboreas\b", r"production|runs"),)),
        question("By which day does the journal want our revision?", "11 April.", (r"11 april",), was=((r"manuscript[^.\n]{0,40}14 march",),)),
        question("What brought the warmest run down in year 412?", "The melt of one step exceeded the thin ice that was left.", (r"melt", r"0\.6 m|without looking|\bthin\b"), (r"melt of one step",), kind="rootcause"),
        question("Did we accept the help with CUDA?", "No, the model remains on processors; a factor of 1.25 is not worth it.", (r"remains on processors",), (r"factor of 1\.25",), kind="rejected"),
        question("Which characters shall be avoided in identifiers?", "Greek letters.", (r"greek",), kind="preference"),
        question("What do we lack to trust the break-off of icebergs?", "Validation of the calving law against the survey's front positions.", (r"front positions",), (r"has not been validated",), kind="open"),
        question("How did we save a quarter of the computing time?", "The preconditioner is rebuilt only in every fifth step.", (r"preconditioner", r"fifth|lazier"), kind="decision"),
        question("What do we demand of the plots for the paper?", "One script per figure in figures/ that runs on its own.", (r"figure", r"on its own|one script|fresh process"), kind="preference"),
    ),
    stands=(
        value("heat-cfl", (r"heat solver uses 0\.5",), (r"heat (solver|equation)", r"as it has been|need not pay")),
        value("restarts", (r"restart", r"JLD2|remain as they are")),
        value("symposium", (r"abstract[^.\n]{0,40}14 march",), (r"symposium", r"unmoved|as it was")),
        value("friction", (r"friction exponent", r"\b3\b")),
    ),
    foreign=(
        value("passes", r"wren-ops|punta arenas"),
        value("vat", r"quayside|mollie"),
        value("bot", r"barge-in"),
    ),
)  # fmt: skip
