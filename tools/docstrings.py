"""Check the documentation of every public name against the numpydoc standard, as users reach it: from `__all__`.

numpydoc's own command line goes by files instead, and takes every helper of a private module for public.
"""

import dataclasses
import enum
import inspect
import sys
from collections.abc import Iterator

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import implicit_bias

#: Checks that this house does without; which functions need an example is in tests/python/test_api.py.
IGNORED = {
    "EX01",  # no example: methods are shown in the example of their class
    "ES01",  # no extended summary: the first line may say it all
    "SA01",  # no "See Also"
    "SA03",  # "See Also" entries go on in lower case, after a colon
    "SS05",  # "Coefficients against time" is no verb in the third person
}


def public() -> Iterator[tuple[str, object]]:
    """Every class, function, method and property that `__all__` leads to, under the name that users type."""
    modules = [thing for name in implicit_bias.__all__ if inspect.ismodule(thing := getattr(implicit_bias, name))]
    for module in [implicit_bias, *modules]:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing):
                for member, value in vars(thing).items():
                    if not member.startswith("_") and hasattr(value, "__doc__") and _documented(value):
                        yield f"{module.__name__}.{name}.{member}", value


def _documented(value: object) -> bool:
    """Whether a member of a class has documentation of its own: no fields, no members of an enumeration."""
    return inspect.isroutine(value) or isinstance(value, (property, classmethod)) or hasattr(value, "func")


def complaints(name: str, thing: object) -> Iterator[str]:
    """What is wrong with one docstring."""
    doc, fields = get_doc_object(thing), _fields(thing)
    # Results are made by the package: what a user reads are their fields, as attributes, and not how they are made.
    made_here = fields is not None and not doc["Parameters"]
    for code, message in validate(name)["errors"]:
        if code not in IGNORED and not (made_here and code == "PR01"):
            yield f"{name}: {code} {message}"
    if fields:
        documented = {
            n.strip() for section in ("Parameters", "Attributes") for p in doc[section] for n in p.name.split(",")
        }
        yield from (f"{name}: the field {field} is not documented" for field in fields if field not in documented)


def _fields(thing: object) -> list[str] | None:
    """Public fields of a class that holds data, and None for everything else."""
    if dataclasses.is_dataclass(thing):
        return [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
    if isinstance(thing, type) and issubclass(thing, tuple):
        return list(thing._fields)
    return [] if isinstance(thing, enum.EnumType) else None


def main() -> None:
    """Print what is wrong, and fail if anything is."""
    things = list(public())
    found = [line for name, thing in things for line in complaints(name, thing)]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{len(found)} complaints about the documentation of {len(things)} public names\n")
    sys.exit(bool(found) or not things)


if __name__ == "__main__":
    main()
