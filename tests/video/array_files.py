"""Headers and values of array files, damaged and undamaged, for the tests of both formats."""

import io

import numpy as np

MAGIC = b"\x93NUMPY\x01\x00"


def header(text, values=b""):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    return MAGIC + len(data).to_bytes(2, "little") + data + values


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


HEADERS = {
    "nothing": b"",
    "no magic": b"a text that is no array",
    "cut": MAGIC + b"\x76",
    "version": b"\x93NUMPY\x09\x00" + bytes(80),
    "tokenizer": header("{'descr': '<u1', 'shape': (3,\n"),
    "indent": header("  {\n 'descr'\n: x\n"),
    "brackets": header("(" * 9000),
    "nested": header("{'descr':" + "[" * 3000 + "]" * 3000 + "}"),
    "no dictionary": header("[1, 2]"),
    "other keys": header("{'descr': '<u1'}"),
    "dtype": header("{'descr': 'zz', 'fortran_order': False, 'shape': (3,)}"),
    "objects": header("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}"),
    "negative": header("{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}"),
    "overflow": header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({10**30},)}}"),
    "not utf-8": header(b"\xff\xfe{'descr'"),
    "zeros": header(b"\0" * 50),
    "code": header("{'descr': print(1), 'fortran_order': False, 'shape': (3,)}"),
}
