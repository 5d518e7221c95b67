"""Words that say nothing about what an event is about. Data only."""

from __future__ import annotations

STOPWORDS = frozenset(
    """
    a about above add added adding after again against agreed all also although always an and
    another any anything are aren't args argv around array as ask asked async at await away back be
    because been before begin being below best better between bin binary bool boolean both break bug
    but by call called calls can can't cannot case cat catch cause causes change changed changes
    char check checked class close closed code com command comment console const content contents
    could count create created current cwd data date day days decided def default desc dev dict did
    didn't different dir directory dist do does doesn't doing don't done down each echo either elif
    else end ends enough enum err error errors etc even ever every example exec exit explore export
    extends extern fail failed failing failure false feature file filename filepath files final
    finally find fine first first_line fix fixed fixes fixing float folder foldername following
    follows for format found from full func function get gets getting give given global go goes
    going good got had has have haven't having he hello help her here hers hey hi him his home how
    however html http https i'd i'll i'm i've id ids if ignored import in include index info init
    input inside instance instead int integer interface interrupted into is isn't issue issues it
    it's item items its itself just keep key keys kind know kwargs lambda last later least left len
    length let let's lib like line lines list little localhost log look looking looks lot made main
    make makes making many map match matters may maybe me mean message method might mind mode module
    more most much must my myself name named namespace nan need needed needs net never new next no
    none nor not nothing now null num number object of off often ok okay old on once one only onto
    open opened option options or org other our ours out output over override own package param
    params part pass passed patch path paths pattern per perhaps pip place please possible prefer
    print private problem prompt protected public put quite raise range rather read reading really
    recent remove removed result results ret return returned returns right root run running runs
    said same say see seems self set several shall she should show shows simple simply since small
    so some something src start started static stderr stdin stdout step still stop stopped str
    string struct success successfully such sure switch sys take taken takes task temp test testing
    tests text than thank thanks that that's the their them then there there's these they thing
    things think this those though three through throw time times tmp to todo together too tool
    total toward traceback tried true truncated try trying tuple turn turns two type typeof types
    undefined under unit until up update updated updates upon url urls us use used user uses using
    usr usually val value values var variable very via void want wants warning warnings was wasn't
    way we we're well went were what when where whether which while who whole whose why will with
    within without won't work working works would write writing wrong www yes yet yield you you'd
    you'll you're your yours
    """.split()
)

CJK_STOPS = (
    *"的 了 是 在 和 与 及 把 被 对 请 我 你 您 他 她 它 们 这 那 个 就 都".split(),
    *"也 还 又 不 没 有 会 能 要 让 给 为 到 从 吗 呢 吧".split(),
    *"ください しました します して する した です ます から まで こと もの".split(),
    *"これ それ は が を に へ と で も の".split(),
)
