"""What other servers of the memory did, handed to the parts of this one that keep something in memory."""

from __future__ import annotations

from holdfast.core.model import Event
from holdfast.engine import Engine
from holdfast.serve.events.websocket import LiveSocket
from holdfast.serve.http.auth import Auth


class FleetNews:
    """Fulfils `fleet_port.News`."""

    def __init__(self, engine: Engine, auth: Auth, live: LiveSocket):
        self._engine = engine
        self._auth = auth
        self._live = live

    def happened(self, event: Event) -> None:
        self._engine.publish(event)

    def missed(self, tenant: str) -> None:
        self._live.missed(tenant)

    def token_changed(self, id: str | None) -> None:
        self._auth.forget(id)
        self._live.recheck()

    def switched(self, tenant: str | None) -> None:
        """What was counted of records is of records that are not live any more."""
        if tenant is None:
            self._engine.recalls.take()
        else:
            self._engine.recalls.drop(tenant)
