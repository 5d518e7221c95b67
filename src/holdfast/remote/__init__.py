"""Remote language models over plain HTTP. This room must not know what is summarized, or why.

`Endpoint` is the shared piece: JSON out, JSON back, within a time, a size and an hourly budget. A dialect
says what one API's requests and answers look like. Remote embedders belong here too, on the same `Endpoint`.
"""

from holdfast.remote.endpoint import Endpoint
from holdfast.remote.summarizer import RemoteSummarizer, summarizer_from

__all__ = ["Endpoint", "RemoteSummarizer", "summarizer_from"]
