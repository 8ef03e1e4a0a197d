"""Ceilings that follow from a ledger, and the smallest change that makes a scenario fit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the cache pool of all replicas holds, whole numbers."""

    kv_bytes_per_token: int  # of one device, unbounded layers only: the growth at long context
    kv_tokens: int  # tokens the pool holds at the scenario's request length
    max_users: int  # at the scenario's request length
    max_users_at_model_length: int  # each with max_model_len tokens
    max_length: int  # tokens a request may have at the scenario's number of users


@dataclass(frozen=True, slots=True)
class Change:
    """One field set to another value, by dotted path."""

    path: str
    value: object
