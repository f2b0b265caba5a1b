"""Writes a C++ header that holds a text file: embed_text.py IN OUT CONSTANT."""

import pathlib
import sys


def main():
    source, out, constant = sys.argv[1:]
    text = pathlib.Path(source).read_text()
    guard = "AUTOBATCH_SIMCUDA_" + pathlib.Path(out).name.upper().replace(".", "_") + "_"
    pathlib.Path(out).write_text(
        f"// Generated from {pathlib.Path(source).name}.\n#ifndef {guard}\n#define {guard}\n\n"
        "namespace autobatch::simcuda {\n\n"
        f'inline constexpr char {constant}[] = R"text({text})text";\n\n'
        f"}}  // namespace autobatch::simcuda\n\n#endif  // {guard}\n")


if __name__ == "__main__":
    main()
