"""Why the system refused, in the person's language: its own words follow the machine's."""

import errno

from core.strict_json import shortened
from core.words import Phrase

_KNOWN = frozenset(
    {
        *("ENOENT", "EACCES", "EPERM", "EISDIR", "ENOTDIR", "ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENFILE"),
        *("ENAMETOOLONG", "EIO", "ELOOP", "EBUSY", "ETIMEDOUT", "ENOMEM", "EINVAL", "EEXIST", "ENXIO"),
        *("ENODEV", "ESTALE", "EFBIG", "EAGAIN", "EHOSTDOWN", "EHOSTUNREACH", "ENOTCONN"),
    }
)


def reason_of(error: Exception) -> Phrase | str:
    """The reason by the number of the error; the system's own words where it is a rare one."""
    name = errno.errorcode.get(getattr(error, "errno", None) or 0, "")
    if name in _KNOWN:
        return Phrase(f"os_reasons.{name.lower()}")
    if isinstance(error, ValueError) and "null" in str(error):
        return Phrase("os_reasons.null")
    return shortened(getattr(error, "strerror", None) or str(error))
