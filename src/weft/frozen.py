"""Records at a fraction of their cost: each start defines hundreds, each answer fills hundreds."""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as standard
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["dataclass"]

Record = TypeVar("Record")


def quick_dataclass(*, frozen: bool = False, slots: bool) -> Callable[[type[Record]], type[Record]]:
    """What `dataclasses.dataclass` makes of a class with slots, without compiling anything for it.

    The standard one writes and compiles six methods for each class. All but `__init__` can be the same for every
    class, and that one is written when the first record is made. Every field is one that `__init__` takes.
    """

    def made(plain: type[Record]) -> type[Record]:
        record: Any = standard(init=False, repr=False, eq=False, slots=slots)(plain)
        compared = [field.name for field in fields(record) if field.compare]
        values = attrgetter(*compared) if compared else lambda record: ()
        record.__signature__ = _Signature()
        methods = {"__init__": _first_init(record), "__repr__": _repr, "__eq__": _equal_by(values)}
        for name, method in methods.items():
            if name not in vars(plain):
                setattr(record, name, method)
        if frozen:
            _freeze(record, values)
        else:
            record.__hash__ = None
        return record  # type: ignore[no-any-return]

    return made


if TYPE_CHECKING:
    # Checkers know the rules of the standard one, and those hold.
    from dataclasses import dataclass
else:
    dataclass = quick_dataclass


def _freeze(record: Any, values: Callable[[Any], Any]) -> None:
    """Let nothing about a record change, so that it has a hash; copies and pickles are made all the same."""
    names = [field.name for field in fields(record)]

    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    if vars(record).get("__hash__") is None:
        record.__hash__ = lambda self: hash(values(self))
    record.__setattr__, record.__delattr__ = _refuse, _refuse
    record.__getstate__, record.__setstate__ = state, restore


def _refuse(self: Any, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _repr(self: Any) -> str:
    told = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(told)})"


def _equal_by(values: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return equal


def _first_init(record: Any) -> Callable[..., None]:
    """An `__init__` that gives way to the real one when it is called."""

    def init(self: Any, *given: Any, **named: Any) -> None:
        record.__init__ = _written_init(record)
        record.__init__(self, *given, **named)

    return init


class _Signature:
    """What the real `__init__` takes, for those who ask before there is one."""

    def __get__(self, record: Any, kind: type[Any]) -> Any:
        import inspect

        _, *parameters = inspect.signature(_written_init(kind)).parameters.values()
        return inspect.Signature(parameters)


def _written_init(record: Any) -> Any:
    """An `__init__` that sets the slots directly; the standard one looks up every field anew to set it.

    Written as source, as theirs is, because a loop over the slots would cost as much as it saves.
    """
    scope: dict[str, Any] = {"MISSING": MISSING}
    parameters, lines = [], []
    for field in fields(record):
        name, given = field.name, field.name
        scope[f"set_{name}"] = getattr(record, name).__set__
        if field.default is not MISSING:
            scope[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        elif field.default_factory is not MISSING:
            scope[f"make_{name}"] = field.default_factory
            parameters.append(f"{name}=MISSING")
            given = f"make_{name}() if {name} is MISSING else {name}"
        else:
            parameters.append(name)
        lines.append(f" set_{name}(self, {given})")
    if hasattr(record, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join([f"def __init__(self, {', '.join(parameters)}):", *(lines or [" pass"])]), scope)
    return scope["__init__"]
