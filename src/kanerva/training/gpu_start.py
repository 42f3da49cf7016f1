"""Starts a GPU while the processor does something else.

A GPU, its driver and its libraries take seconds to start. None of this changes a number.
"""

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def start_driver() -> None:
    """Begin to start the driver and its context; call this before torch is imported.

    Without a GPU nothing happens. torch uses the same context later.
    """
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")  # as torch does
    threading.Thread(target=_start_driver, daemon=True).start()


def _start_driver() -> None:
    with contextlib.suppress(OSError, AttributeError, ValueError):
        driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        number = int(os.environ.get("LOCAL_RANK", "0"))
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), number) == 0:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


@contextlib.contextmanager
def loading_libraries(device: "torch.device") -> Iterator[None]:
    """A context in which a thread loads what a training needs on a GPU.

    These are the libraries for products, convolutions and factors of matrices. At the end the
    thread is done: nothing else may use the GPU while a graph is captured.
    """
    if device.type != "cuda":
        yield
        return
    thread = threading.Thread(target=_load_libraries, args=(device,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load_libraries(device: "torch.device") -> None:
    """Small steps through all libraries. They draw no random numbers."""
    import torch

    with contextlib.suppress(RuntimeError):  # the training will meet it, too, and say so
        square = torch.eye(4, device=device)
        torch.mm(square, square)
        factor = torch.linalg.cholesky(square.double())
        torch.linalg.solve_triangular(factor, factor, upper=False)
        torch.cholesky_solve(factor, factor)
        images = torch.ones(1, 4, 8, 8, device=device, dtype=torch.bfloat16, requires_grad=True)
        kernel = torch.ones(4, 4, 4, 4, device=device, dtype=torch.bfloat16, requires_grad=True)
        torch.nn.functional.conv2d(images, kernel, stride=2, padding=1).sum().backward()
        torch.cuda.synchronize(device)
