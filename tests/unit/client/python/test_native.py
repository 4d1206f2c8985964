"""The ctypes structs of _native.py are those of the C headers."""

import ctypes
import json
import pathlib
import re
import subprocess

from forebay import _native

ROOT = pathlib.Path(__file__).resolve().parents[4]
HEADERS = ["client/forebay.h", "client/forebay_dataset.h",
           "client/forebay_object.h", "client/forebay_producer.h",
           "client/forebay_reader.h", "client/forebay_tensor.h"]
# The structs for which Python has messages of proto/.
MESSAGES = {"forebay_padding", "forebay_range", "forebay_resampling",
            "forebay_spectrogram", "forebay_mel_spectrogram", "forebay_loader_stats"}


def structs_of(text):
    """Returns the fields of each struct that a C header defines, by the struct's
    name."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = {}
    for name, body in re.findall(r"\bstruct (\w+) \{(.*?)\}", text, re.DOTALL):
        declarators = re.findall(r"(\w+)\s*(?:\[\w+\]\s*)*[,;]", body)
        assert len(declarators) == body.count(";") + body.count(","), name
        found[name] = declarators
    return found


def program(structs):
    """Returns a C program that prints a JSON object: each struct's size, and each
    field's offset and size."""
    lines = [f'#include "{header}"' for header in HEADERS]
    lines += ["#include <stdio.h>", "int main(void) {", 'printf("{");']
    for number, (name, fields) in enumerate(structs.items()):
        lines.append(f'printf("{"," if number else ""}\\"{name}\\": '
                     f'[%zu, {{", sizeof({name}));')
        for at, field in enumerate(fields):
            lines.append(
                f'printf("{"," if at else ""}\\"{field}\\": [%zu, %zu]", '
                f"offsetof({name}, {field}), sizeof((({name}*)0)->{field}));")
        lines.append('printf("}]");')
    return "\n".join([*lines, 'printf("}");', "return 0;", "}"])


def c_layouts(root, folder):
    """Compiles the headers below `root`. Returns the layouts of _native's structs, by
    the names of the C structs."""
    structs = structs_of("".join((root / name).read_text() for name in HEADERS))
    structs = {name: fields for name, fields in structs.items() if name not in MESSAGES}
    source, binary = folder / "layout.c", folder / "layout"
    source.write_text(program(structs))
    subprocess.run(["gcc", "-std=c11", "-I", str(root), str(source), "-o",
                    str(binary)], check=True)
    printed = subprocess.run([str(binary)], check=True,
                             stdout=subprocess.PIPE).stdout
    return {"".join(map(str.capitalize, name.split("_")[1:])): layout
            for name, layout in json.loads(printed).items()}


def python_layouts():
    return {name: [ctypes.sizeof(struct),
                   {field: [getattr(struct, field).offset,
                            getattr(struct, field).size]
                    for field, _ in struct._fields_}]
            for name, struct in vars(_native).items()
            if isinstance(struct, type) and issubclass(struct, ctypes.Structure)}


def test_every_struct_has_the_compilers_layout(tmp_path):
    assert python_layouts() == c_layouts(ROOT, tmp_path)


def test_a_field_that_only_c_has_is_found(tmp_path):
    """The field is found even if the struct's size stays the same, because the field
    takes the place of padding."""
    (tmp_path / "client").mkdir()
    for name in HEADERS:
        text = (ROOT / name).read_text()
        (tmp_path / name).write_text(text.replace(
            "uint8_t dataset_version[16];\n} forebay_reader_info",
            "uint8_t dataset_version[16], more;\n} forebay_reader_info"))
    changed = c_layouts(tmp_path, tmp_path)
    ours = python_layouts()
    assert changed["ReaderInfo"][0] == ours["ReaderInfo"][0]
    assert changed["ReaderInfo"] != ours["ReaderInfo"]
    del changed["ReaderInfo"], ours["ReaderInfo"]
    assert changed == ours
