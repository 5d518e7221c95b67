"""Memories as a numbered list for a person, page by page, in Chinese or English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core.errors import InvalidRequest
from holdfast.protocol.injection import Locale
from holdfast.protocol.metadata import MemoryMetadata
from holdfast.protocol.text import display_text
from holdfast.protocol.visible import visible

PREVIEW_CHARS = 100
LINE_CHARS = 300
PAGE_SIZE = 10


@dataclass(frozen=True, slots=True)
class _LocaleTexts:
    none: str
    beyond: str
    header: str
    content: str
    scope: str
    created: str
    disclosure: str
    recalled: str
    deprecated: str
    hint: str
    unreadable: str


_WORDS: Mapping[str, _LocaleTexts] = {
    "zh": _LocaleTexts(
        none="暂无记忆",
        beyond="没有第 {page} 页：共 {pages} 页，{total} 条记忆",
        header="记忆列表（第 {page}/{pages} 页，共 {total} 条）：",
        content="内容",
        scope="作用域",
        created="创建",
        disclosure="触发",
        recalled="召回: {count}次",
        deprecated="状态: 已弃用",
        hint="提示: {command} 查看下一页",
        unreadable="（此记录无法读取）",
    ),
    "en": _LocaleTexts(
        none="No memories yet",
        beyond="There is no page {page}: {pages} pages, {total} memories",
        header="Memories (page {page}/{pages}, {total} in all):",
        content="Content",
        scope="Scope",
        created="Created",
        disclosure="Recall when",
        recalled="Recalled: {count} times",
        deprecated="State: deprecated",
        hint="Next page: {command}",
        unreadable="(this record cannot be read)",
    ),
}


def format_memory_for_user(
    memories: Sequence[Mapping[str, Any]],
    page: int = 1,
    total: int = 0,
    page_size: int = PAGE_SIZE,
    all_mode: bool = False,
    cmd_prefix: str = "/",
    *,
    locale: Locale = "zh",
) -> str:
    """The memories of one page, numbered through all pages, with the command for the next page if there is one.

    Args:
        memories: those of this page; each with `content` or `text`, and `metadata`.
        page: which page this is; the first is 1.
        total: how many there are on all pages; at least those that are given.
        page_size: how many a full page has.
        all_mode: whether the command lists the memories of all users.
        cmd_prefix: what stands before a command.
        locale: zh or en.

    Raises:
        InvalidRequest: the locale is none of the two.
    """
    if locale not in _WORDS:
        raise InvalidRequest(f"locale must be one of {', '.join(_WORDS)}")
    words = _WORDS[locale]
    page, size = max(page, 1), page_size if page_size > 0 else PAGE_SIZE
    before = (page - 1) * size
    shown = list(memories or ())
    total = max(total, before + len(shown) if shown else 0)
    pages = max(-(-total // size), 1)
    if not shown:
        return words.beyond.format(page=page, pages=pages, total=total) if total and page > pages else words.none
    lines = [words.header.format(page=page, pages=pages, total=total)]
    for number, memory in enumerate(shown, before + 1):
        lines += _item(number, memory, words)
    if page < pages:
        command = f"{cmd_prefix}memory list{' --all' if all_mode else ''} {page + 1}"
        lines.append("\n" + words.hint.format(command=command))
    return "\n".join(lines)


def _item(number: int, memory: object, words: _LocaleTexts) -> Iterator[str]:
    if not isinstance(memory, Mapping):
        yield f"\n{number}. {words.unreadable}"
        return
    about = MemoryMetadata.from_dict(memory.get("metadata"))
    yield f"\n{number}. [{_line(about.uri, LINE_CHARS)}]"
    yield f"   {words.content}: {_line(display_text(memory, about), PREVIEW_CHARS)}"
    yield f"   {words.scope}: {about.memory_scope}"
    yield f"   {words.created}: {_line(about.created_at[:10], 10) or 'N/A'}"
    if about.disclosure:
        yield f"   {words.disclosure}: {_line(about.disclosure, LINE_CHARS)}"
    if about.recall_count > 0:
        yield "   " + words.recalled.format(count=about.recall_count)
    if about.deprecated:
        yield "   " + words.deprecated


def _line(text: str, limit: int) -> str:
    """One visible line: a stored list item does not begin a line here."""
    line = " ".join(visible(text).split("\n"))
    return line if len(line) <= limit else line[:limit] + "..."
