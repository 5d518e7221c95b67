"""The kind of an event, from the hook's name and the tool's name. Tables; no text is read.

The tools are those of Claude Code, Codex, Cursor, Copilot, Gemini CLI, OpenCode, Cline and Antigravity.
"""

from __future__ import annotations

import re

_HOOK_ALIASES = {
    "user_prompt_submit": "prompt_submit",
    "post_tool_use_failure": "post_tool_failure",
    "before_submit_prompt": "prompt_submit",
}

HOOK_KINDS = {
    "post_tool_failure": "error",
    "retry_attempt": "error",
    "prompt_submit": "conversation",
    "assistant_message": "conversation",
    "reasoning": "conversation",
    "subagent_start": "subagent",
    "subagent_stop": "subagent",
    "task_completed": "subagent",
    "notification": "notification",
    "permission_replied": "notification",
    "patch_applied": "file_edit",
    "session_diff": "file_edit",
    "command_executed": "command_run",
}

HOUSEKEEPING_HOOKS = frozenset(
    "agent_selected compaction_event config_loaded llm_params message_removed session_compacted "
    "session_status session_updated step_finish session_start session_end stop pre_compact".split()
)

_NAMES = {
    "command_run": """bash bashoutput shell localshell localshellcall execcommand exec execute runshellcommand
        runterminalcmd runcommand executecommand runinterminal terminal powershell shellcommand unifiedexec
        writestdin killshell killbash commandstatus runtests""",
    "file_edit": """edit multiedit applypatch patch strreplace strreplaceeditor strreplacebasededittool
        replace searchreplace editfile replacefilecontent multireplacefilecontent insertedit insertintofile
        notebookedit inserteditintofile editnotebook replaceinfile updatefile deletefile removefile movefile
        reapply""",
    "file_write": "write writefile createfile writetofile savefile newfile create createnewfile",
    "file_read": """read readfile view viewfile viewfileoutline viewcodeitem readmanyfiles readmultiplefiles
        notebookread viewimage openfile cat ls list listdir listdirectory listfiles readlints""",
    "search": """grep glob search find codebasesearch grepsearch filesearch searchfilecontent ripgrep rg
        searchfiles codesearch findbyname toolsearch listcodeusages semanticsearch""",
    "web_fetch": """webfetch websearch googlewebsearch fetch fetchwebpage fetchurl readurlcontent searchweb
        websearchcall browsernavigate openurl browse""",
    "subagent": """task agent subagent dispatchagent spawnagent delegate runsubagent newtask taskoutput
        agentoutput sendinput waitagent closeagent""",
    "conversation": "conversation chat message",
    "other": """todowrite todoread updateplan exitplanmode enterplanmode skill slashcommand think
        askuserquestion""",
}
_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_WORDS = (
    ("web_fetch", frozenset("web fetch url browser navigate http crawl scrape".split())),
    ("search", frozenset("grep glob search find query lookup".split())),
    ("command_run", frozenset("bash shell exec command terminal cmd".split())),
    ("file_edit", frozenset("edit replace patch".split())),
    ("subagent", frozenset("subagent agent delegate".split())),
)
_FILE_WORDS = (
    ("file_write", frozenset("write create save".split())),
    ("file_edit", frozenset("update delete move rename insert append".split())),
    ("file_read", frozenset("read view list open get cat".split())),
)
_FILES = frozenset("file files dir directory folder notebook".split())
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?holdfast_{1,2}")
_TYPE_NAME = re.compile(r"[a-z][a-z_]{1,31}")


def hook_name(hook: str) -> str:
    """The hook in snake case: `PostToolUse` and `post-tool-use` are `post_tool_use`."""
    words = "_".join(word.lower() for word in _WORD.findall(hook[:80]))
    return _HOOK_ALIASES.get(words, words)


def split_tool(name: str) -> tuple[str, str]:
    """The server and the bare name of a tool: `mcp__github__search_issues` is github and search_issues."""
    if name.startswith("mcp__"):
        server, _, tool = name[len("mcp__") :].partition("__")
        return (server, tool) if tool else ("", server)
    return "", name.rpartition(".")[2] or name


def is_own_tool(name: str) -> bool:
    """Whether it is one of Holdfast's own, as the agents name them: their output is in the memory already."""
    return bool(_OWN_TOOL.match(name))


def kind_of_tool(name: str) -> str:
    server, bare = split_tool(name[:200])
    known = _BY_NAME.get(re.sub(r"[^a-z0-9]", "", bare.lower()))
    if known is not None and not (server and known in ("file_write", "file_read", "subagent")):
        return known
    words = frozenset(word.lower() for word in _WORD.findall(bare))
    tables = _WORDS + (_FILE_WORDS if words & _FILES or not server else ())
    return next((kind for kind, signs in tables if words & signs), "other")


def kind_of_type(given: object) -> str:
    """A type that the client itself gave, when it has the form of one."""
    return given if isinstance(given, str) and _TYPE_NAME.fullmatch(given) else "other"
