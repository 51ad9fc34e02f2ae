"""Records at a fraction of their cost: each start defines hundreds, each answer fills hundreds."""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as standard
from functools import partial
from operator import attrgetter
from types import new_class
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["dataclass"]

Record = TypeVar("Record")


def quick_dataclass(*, frozen: bool = False, slots: bool) -> Callable[[type[Record]], type[Record]]:
    """What `dataclasses.dataclass` makes of a class with slots, without compiling anything for it.

    The standard one writes and compiles six methods for each class. All but the one that fills a record can be the
    same for every class, and that one is written when the first record is made. Every field is one that it takes.
    """

    def made(plain: type[Record]) -> type[Record]:
        record: Any = standard(init=False, repr=False, eq=False, slots=slots)(plain)
        values = _reader([field.name for field in fields(record) if field.compare])
        record.__signature__ = _Signature()
        for name, method in {"__repr__": _repr, "__eq__": _equal_by(values)}.items():
            if name not in vars(plain):
                setattr(record, name, method)
        if frozen:
            _freeze(record, values)
        else:
            record.__init__, record.__hash__ = _first_init(record), None
        return record  # type: ignore[no-any-return]

    return made


if TYPE_CHECKING:
    # Checkers know the rules of the standard one, and those hold.
    from dataclasses import dataclass
else:
    dataclass = quick_dataclass


def _freeze(record: Any, values: Callable[[Any], Any]) -> None:
    """Let nothing about a record change, so that it has a hash; copies and pickles are made of its values."""
    names = [field.name for field in fields(record)]
    given = _reader(names)
    record.__new__, record.__reduce__ = _first_new(record), lambda self: (type(self), given(self))
    if vars(record).get("__hash__") is None:
        record.__hash__ = lambda self: hash(values(self))
    record.__setattr__, record.__delattr__ = _refuse, _refuse


def _reader(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads these fields of a record."""
    return (
        attrgetter(*names) if len(names) > 1 else lambda record: tuple([getattr(record, name) for name in names])
    )


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

    def init(_self: Any, /, *given: Any, **named: Any) -> None:
        record.__init__ = _written(record, "__init__", "_self")
        record.__init__(_self, *given, **named)

    return init


def _first_new(record: Any) -> Any:
    """A `__new__` that gives way to the real one when it is called."""

    def new(_kind: Any, /, *given: Any, **named: Any) -> Any:
        record.__new__ = staticmethod(_written_new(record))
        return record.__new__(_kind, *given, **named)

    return staticmethod(new)


def _written_new(record: Any) -> Any:
    """A `__new__` that fills an open twin of the record, whose fields can simply be set, and then closes it.

    To set the fields of a closed one, as the standard `__init__` does, takes up to three times as long.
    """
    alike = {"__slots__": record.__slots__, "__setattr__": object.__setattr__, "__module__": record.__module__}
    bases = vars(record).get("__orig_bases__", record.__bases__)
    twin = new_class(record.__name__, bases, exec_body=lambda scope: scope.update(alike))
    scope = {"_open": partial(object.__new__, twin), "_closed": _closed}
    close = "try: _self.__class__ = _kind\n except TypeError: _self = _closed(_self, _kind)"
    return _written(record, "__new__", "_kind", scope, "_self = _open()", close)


def _closed(twin: Any, kind: type[Any]) -> Any:
    """What a twin holds as a record of a class of somebody's own, which has room for more than slots."""
    made = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(made, field.name, getattr(twin, field.name))
    return made


class _Signature:
    """What a record takes, for those who ask before there is one."""

    def __get__(self, record: Any, kind: type[Any]) -> Any:
        import inspect

        _, *parameters = inspect.signature(_written(kind, "__init__", "_self")).parameters.values()
        return inspect.Signature(parameters)


def _written(record: Any, method: str, first: str, scope: Any = None, before: str = "", after: str = "") -> Any:
    """A method that takes every field and sets it, between some statements.

    Written as source, as the standard one is, because a loop over the fields would cost as much as it saves.
    """
    known: dict[str, Any] = {"MISSING": MISSING, **(scope or {})}
    parameters, lines = [first], [before]
    for field in fields(record):
        name, given = field.name, field.name
        if field.default is not MISSING:
            known[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        elif field.default_factory is not MISSING:
            known[f"make_{name}"] = field.default_factory
            parameters.append(f"{name}=MISSING")
            given = f"make_{name}() if {name} is MISSING else {name}"
        else:
            parameters.append(name)
        lines.append(f"_self.{name} = {given}")
    lines += [after, "_self.__post_init__()" if hasattr(record, "__post_init__") else ""]
    lines.append("return _self" if method == "__new__" else "return None")
    body = "\n ".join([line for line in lines if line])
    exec(f"def {method}({', '.join(parameters)}):\n {body}", known)
    return known[method]
