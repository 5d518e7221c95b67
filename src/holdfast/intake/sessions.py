"""Sessions: starting one never ends another's, a repeated start resumes, an end can be repeated."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.model import CleanText, Commit, Session
from holdfast.core.session_keys import key_of
from holdfast.intake.event.event import CleanEvent
from holdfast.intake.observe import open_session
from holdfast.projects import note_project
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import COMMITS, OBSERVATIONS, SESSIONS


def start_session(ctx: CallContext, event: CleanEvent, title: CleanText | None) -> Session:
    """The session of that id, made or resumed with its counts as they were."""

    def store(tx: Tx) -> Session:
        session = open_session(ctx, tx, event)
        session = dataclasses.replace(
            session,
            title=title or session.title,
            project=event.project or session.project,
            cwd=event.cwd or session.cwd,
        )
        tx.replace(SESSIONS, session)
        note_project(ctx, tx, event.project, event.cwd)
        ctx.audit(tx, "session_start", (session.id,), session.agent)
        ctx.publish(tx, "session", session)
        return session

    return ctx.store.write(store)


def end_session(
    ctx: CallContext, session_id: str, at: int | None = None, *, unless_later: bool = False
) -> Session | None:
    """The session, completed; None if there is none, as when hooks were installed in the middle of it.

    An event that happened after the end brings it back to life. `unless_later`: it is left as it is if one is known.
    """

    def store(tx: Tx) -> Session | None:
        known = tx.get(SESSIONS, ctx.tenant, ctx.session_key(tx, session_id))
        if known is None or not ctx.may_see(known):
            return None
        if known.status == "completed" or (unless_later and _went_on(tx, known, at)):
            return known
        now = ctx.clock.now_ms()
        ended_at = now if at is None else min(at, now)
        ended = dataclasses.replace(known, status="completed", ended_at=ended_at, updated_at=now)
        tx.replace(SESSIONS, ended)
        ctx.audit(tx, "session_end", (ended.id,), ended.agent)
        ctx.publish(tx, "session", ended)
        return ended

    return ctx.store.write(store)


def _went_on(tx: Tx, session: Session, at: int | None) -> bool:
    """Whether something happened in a session after a moment."""
    later = (*where(session_id=session.id), Condition("at", ">", at))
    return at is not None and tx.count(OBSERVATIONS, session.tenant, *later) > 0


@dataclass(frozen=True, slots=True)
class CommitDraft:
    sha: CleanText
    session_id: CleanText | None
    branch: CleanText
    repo: CleanText
    message: CleanText
    author: CleanText
    authored_at: CleanText
    files: tuple[CleanText, ...]


def commit_id(repo: str, sha: str, agent: str | None) -> str:
    """The commit's key: repository and sha; isolated agents have their own."""
    return key_of(repo, sha, agent)


def link_commit(ctx: CallContext, draft: CommitDraft) -> Commit:
    """The commit, linked to the session as well as to those it was linked to before."""

    def store(tx: Tx) -> Commit:
        id = commit_id(draft.repo, draft.sha, ctx.shared_agent())
        known = tx.get(COMMITS, ctx.tenant, id)
        linked = (ctx.session_key(tx, draft.session_id),) if draft.session_id else ()
        sessions = (*(known.session_ids if known else ()), *linked)
        commit = Commit(
            tenant=ctx.tenant,
            id=id,
            seq=known.seq if known else tx.next_seq(ctx.tenant),
            sha=draft.sha,
            branch=draft.branch or (known.branch if known else ""),
            repo=draft.repo,
            message=draft.message or (known.message if known else ""),
            author=draft.author or (known.author if known else ""),
            authored_at=draft.authored_at or (known.authored_at if known else ""),
            files=draft.files or (known.files if known else ()),
            session_ids=tuple(dict.fromkeys(sessions)),
            agent=ctx.writes_as(None),
            linked_at=ctx.clock.now_ms(),
        )
        tx.replace(COMMITS, commit)
        ctx.audit(tx, "session_commit", (commit.id,), commit.agent)
        ctx.publish(tx, "commit", commit)
        return commit

    return ctx.store.write(store)
