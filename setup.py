"""What pyproject.toml cannot say: the C that is built where a compiler is, and left out elsewhere.

It is for the limited API of CPython 3.11, so one build serves every later version. An egg for scrapyd is a zip file
for any machine, from which C cannot be loaded: it has none.
"""

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

LIMITED = "0x030B0000"
FOLDER = Path("sitecrawl", "base", "native")
IS_EGG = any(word.startswith("bdist_") and word.endswith("egg") for word in sys.argv)
HAS_LIMITED_API = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")

native = Extension(
    "sitecrawl.base._native",
    sources=sorted(str(file) for file in FOLDER.glob("*.c")),
    depends=sorted(str(file) for file in FOLDER.glob("*.h")),
    define_macros=[("Py_LIMITED_API", LIMITED)],
    py_limited_api=True,
    optional=True,  # where it cannot be built, the twins in Python do its work
)

if IS_EGG or not HAS_LIMITED_API:
    setup()
else:
    setup(ext_modules=[native], options={"bdist_wheel": {"py_limited_api": "cp311"}})
