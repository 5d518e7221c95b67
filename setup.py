"""What pyproject.toml cannot say: the loops in C, built where there is a compiler, and for every Python alike."""

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """For one platform and any Python: there is no Python in the library, ctypes calls it."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


kernel = Extension(
    "holdfast.store._kernel",
    ["src/holdfast/store/kernel.c"],
    extra_compile_args=["-O3"],
    optional=True,  # elsewhere numpy does the same, more slowly
    py_limited_api=True,  # for its name alone: every Python finds it
)

setup(ext_modules=[kernel], cmdclass={"bdist_wheel": Wheel})
