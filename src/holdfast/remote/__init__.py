"""Remote language models over plain HTTP. This room must not know what is summarized, or why.

`Endpoint` is the shared piece: JSON out, JSON back, within a time, a size and an hourly budget. A dialect
says what one API's requests and answers look like. `Download` brings a large file instead.
"""

from holdfast.remote.download import Download
from holdfast.remote.embedders import RemoteEmbedder, remote_embedder_from
from holdfast.remote.endpoint import Endpoint
from holdfast.remote.summarizer import RemoteSummarizer, summarizer_from

__all__ = [
    "Download",
    "Endpoint",
    "RemoteEmbedder",
    "RemoteSummarizer",
    "remote_embedder_from",
    "summarizer_from",
]
