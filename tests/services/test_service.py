import socket

import pytest

from orbit_pipelines.errors import ServiceFailed, UsageError
from orbit_pipelines.services.service import Address, Service, answers, require_free_ports


def service(port: int, title: str = "Pages", option: str = "--port") -> Service:
    return Service(title.lower(), title, ("true",), address=Address("127.0.0.1", port, option))


def test_a_taken_port_is_named_with_its_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(ServiceFailed, match=rf"Port {port} .* Pages .*--web-port"):
            require_free_ports([service(port, option="--web-port")])


def test_two_services_on_one_port_are_refused() -> None:
    with pytest.raises(UsageError, match=r"Two and One both want port 4001.*--second"):
        require_free_ports([service(4001, "One"), service(4001, "Two", "--second")])


def test_a_number_that_is_no_port_is_refused() -> None:
    with pytest.raises(UsageError, match="70000 is no port"):
        require_free_ports([service(70_000)])


def test_a_service_without_an_address_needs_no_port() -> None:
    require_free_ports([Service("daemon", "Daemon", ("true",))])


def test_nobody_answers_on_a_free_port() -> None:
    assert not answers(Address("127.0.0.1", 1, "--port"))


def test_a_server_that_speaks_no_http_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        address = Address("127.0.0.1", listener.getsockname()[1], "--port")
        listener.close()

        assert not answers(address)
