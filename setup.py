"""What pyproject.toml cannot say: the loops in C, built where there is a compiler, and for every Python alike."""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class Build(build_ext):
    """Under a name that Python does not take for a module: there is no Python in the library, ctypes calls it."""

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split(".")).with_suffix(".native"))


class Wheel(bdist_wheel):
    """For one platform and any Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


kernel = Extension(
    "holdfast.store.kernel",
    ["src/holdfast/store/kernel.c"],
    extra_compile_args=["-O3"],
    optional=True,  # elsewhere numpy does the same, more slowly
)

setup(ext_modules=[kernel], cmdclass={"build_ext": Build, "bdist_wheel": Wheel})
