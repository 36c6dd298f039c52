"""One process that `orbit up` runs, as a value: what to start, where it answers, which option moves its port."""

import http.client
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from orbit_pipelines.errors import ServiceFailed, UsageError
from orbit_pipelines.settings import PROJECT_ROOT


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service answers over HTTP, and the option of `orbit up` that sets its port."""

    host: str
    port: int
    option: str
    path: str = "/"

    @property
    def url(self) -> str:
        """What to open in a browser."""
        return f"http://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Service:
    """A process to supervise, started in ``folder``. ``name`` names its log file, ``title`` says what it is."""

    name: str
    title: str
    command: tuple[str, ...]
    folder: Path = PROJECT_ROOT
    address: Address | None = None


def require_free_ports(services: Iterable[Service]) -> None:
    """Refuse to start where a port is taken, or wanted twice.

    Raises:
        UsageError: two services want the same port, or a number is no port.
        ServiceFailed: something listens there already.
    """
    wanted: dict[tuple[str, int], Service] = {}
    for service in services:
        if service.address is None:
            continue
        address = service.address
        other = wanted.setdefault((address.host, address.port), service)
        if other is not service:
            raise UsageError(
                f"{service.title} and {other.title} both want port {address.port}. Give one of them another port with "
                f"{address.option}."
            )
        _require_free(service, address)


def answers(address: Address) -> bool:
    """Tell whether an HTTP server at the address answers with something other than an error of its own."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=5)
    try:
        connection.request("GET", address.path)
        return connection.getresponse().status < http.client.INTERNAL_SERVER_ERROR
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _require_free(service: Service, address: Address) -> None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.host, address.port))
        except OverflowError as error:
            raise UsageError(f"{address.port} is no port; {address.option} takes 1 to 65535.") from error
        except OSError as error:
            raise ServiceFailed(
                f"Port {address.port} on {address.host}, which {service.title} wants, can't be had: {error.strerror}. "
                f"Stop what listens there, or choose another port with {address.option}."
            ) from error
