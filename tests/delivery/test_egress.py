"""The one way out: hostile addresses, counted at listeners and at the interpreter's own record of connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from gapscope_backend.alerts.addresses import read_allow_list
from gapscope_backend.alerts.egress import MAX_ANSWER_BYTES, BlockedError, Egress, EgressError, resolve_name
from gapscope_backend.errors import ConfigurationError
from tests.delivery.listening import Listener, answer, connections_tried, listening

EVERYWHERE = ("0.0.0.0", "::")
GOOD = "good.test"

NUMBERS = (  # forms of an address that only a resolver, or nobody, takes for one
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "017700000001",
    "0177.0.0.1",
    "0177.0x0.0.01",
    "127.0.0.1.",
    "127.255.255.254",
    "0.0.0.0",
    "0",
    "0x0",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "0xc0a80001",
    "192.0.0.8",
    "192.88.99.1",
    "198.18.0.1",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "１２７.0.0.1",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:10.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]",
    "[2002:a00:1::1]",
    "[2001:0:7f00:1::]",
    "[2001:db8::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fe80::1%25lo]",
    "[fec0::1]",
    "[ff02::1]",
    "[100::1]",
    "[4000::1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "ⓛocalhost",
)
NAMES = {  # what a resolver says of names, each of them blocked
    "loopback.test": ["127.0.0.1"],
    "loopback6.test": ["::1"],
    "private.test": ["10.1.2.3"],
    "metadata.test": ["169.254.169.254"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "scoped.test": ["fe80::1%lo"],
    "ula.test": ["fd12:3456::1"],
    "shared.test": ["100.127.255.254"],
    "one-of-two.test": ["93.184.216.34", "127.0.0.1"],
    "the-other.test": ["127.0.0.1", "93.184.216.34"],
    "one-of-both-kinds.test": ["2606:2800:220:1::1", "::1"],
    "nowhere.test": ["0.0.0.0"],
    "many.test": ["93.184.216.34"] * 3 + ["192.168.1.1"],
}
ADDRESSES = (  # whole addresses that try to look like others
    "https://good.test@127.0.0.1:{port}/",
    "https://good.test:pass@127.0.0.1:{port}/",
    "https://good.test%40127.0.0.1:{port}/",
    "https://@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}#@good.test/",
    "https://127.0.0.1:{port}?@good.test/",
    "https://good.test\\@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}\\@good.test/",
    "https:\\\\127.0.0.1:{port}/",
    "https://127.0.0.1:{port}\t/",
    "https://127.0.0.1\r\n:{port}/",
    "https://127.0.0.1%00.good.test:{port}/",
    "https://127.0.0.1 good.test:{port}/",
    "//127.0.0.1:{port}/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_GET",
    "ftp://127.0.0.1:{port}/",
    "unix:///run/docker.sock",
    "data:text/plain,x",
    "javascript:alert(1)",
    "https:///127.0.0.1:{port}/",
    "https://:{port}/",
    "https://127.0.0.1:99999/",
    "https://127.0.0.1:0/",
    "https://[::1:{port}/",
    "https://127.0.0.1:{port}/" + "a" * 3000,
    "",
)
REDIRECTS = (301, 302, 303, 307, 308)


async def resolve(host: str, port: int) -> Sequence[str]:
    """The names of this test; all else as the machine knows it: numbers in their odd forms, localhost."""
    if host.endswith(".test"):
        if host not in NAMES:
            raise OSError("no such name")
        return NAMES[host]
    return await resolve_name(host, port)


@pytest.fixture
async def everywhere() -> AsyncIterator[Listener]:
    async with listening(EVERYWHERE) as listener:
        yield listener


def hostile(port: int) -> list[str]:
    hosts = [*NUMBERS, *NAMES]
    return [
        *(f"https://{host}:{port}/hook" for host in hosts),
        *(text.replace("{port}", str(port)) for text in ADDRESSES),
    ]


async def test_no_hostile_address_is_connected_to(everywhere: Listener) -> None:
    addresses = hostile(everywhere.port)
    assert len(addresses) + len(REDIRECTS) >= 60
    egress = Egress(read_allow_list([f"allowed.example:{everywhere.port}"]), resolve)
    with connections_tried() as tried:
        for address in addresses:
            with pytest.raises(EgressError):
                await egress.check(address)
            with pytest.raises(EgressError):
                await egress.post(address, b"{}", {})
            http = address.replace("https:", "http:", 1)
            with pytest.raises(EgressError):
                await egress.post(http, b"{}", {})
    assert tried == []
    assert everywhere.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "LOCALHOST"])
async def test_the_same_listener_is_reached_where_the_list_names_it(everywhere: Listener, host: str) -> None:
    """So what was counted above could have been counted."""
    egress = Egress(read_allow_list(["127.0.0.0/8", "::1"]))
    with connections_tried() as tried:
        reply = await egress.post(f"http://{host}:{everywhere.port}/hook", b"{}", {})
    assert reply.status == 200
    assert everywhere.connections == 1
    assert tried


async def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to(everywhere: Listener) -> None:
    """What DNS says between check and connection changes nothing (rebinding)."""
    asked: list[str] = []
    answers = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.3"]]

    async def changing(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    egress = Egress(read_allow_list(["127.0.0.1"]), changing)
    with connections_tried() as tried:
        await egress.post(f"http://rebinding.test:{everywhere.port}/", b"", {})
    assert asked == ["rebinding.test"]
    assert [address[0] for address in tried] == ["127.0.0.1"]
    assert everywhere.requests[0].headers["host"] == f"rebinding.test:{everywhere.port}"
    with pytest.raises(BlockedError, match=r"127\.0\.0\.2, which is loopback"):
        await egress.post(f"http://rebinding.test:{everywhere.port}/", b"", {})
    assert everywhere.connections == 1


@pytest.mark.parametrize("status", REDIRECTS)
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with listening() as near, listening(("127.0.0.2",)) as inside:
        near.replies = [answer(status, Location=f"http://127.0.0.2:{inside.port}/", Refresh="0; url=http://127.0.0.2/")]
        egress = Egress(read_allow_list(["127.0.0.1"]))
        with connections_tried() as tried:
            reply = await egress.post(near.url, b"", {})
        assert (reply.status, inside.connections) == (status, 0)
        assert {address[0] for address in tried} == {"127.0.0.1"}


async def test_proxies_and_credentials_of_the_environment_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with listening() as target, listening() as proxy:
        netrc = tmp_path_factory.mktemp("home") / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password secret\n")
        monkeypatch.setenv("NETRC", str(netrc))
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await Egress(read_allow_list(["127.0.0.1"])).post(target.url, b"", {})
        assert (target.connections, proxy.connections) == (1, 0)
        assert "authorization" not in target.requests[0].headers


async def test_tls_asks_for_the_name_at_the_checked_address(everywhere: Listener) -> None:
    async def named(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    egress = Egress(read_allow_list(["hooks.example"]), named)
    with pytest.raises(EgressError, match=r"hooks\.example: ") as caught:
        await egress.post(f"https://hooks.example:{everywhere.port}/services/SECRET", b"", {})
    assert b"hooks.example" in everywhere.raw[0]  # the ClientHello
    assert "SECRET" not in str(caught.value)


async def test_http_to_a_public_target_is_refused() -> None:
    async def public(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", "2606:2800:220:1::1"]

    egress = Egress(resolve=public)
    assert [str(one) for one in (await egress.check("https://hooks.example/x")).addresses] == [
        "93.184.216.34",
        "2606:2800:220:1::1",
    ]
    with connections_tried() as tried, pytest.raises(BlockedError, match="only https"):
        await egress.post("http://hooks.example/x", b"", {})
    assert tried == []


async def test_of_an_answer_four_kilobytes_are_read() -> None:
    async with listening() as target:
        target.replies = [answer(500, b"x" * 1_000_000)]
        reply = await Egress(read_allow_list(["127.0.0.1"])).post(target.url, b"", {})
        assert (reply.status, len(reply.body)) == (500, MAX_ANSWER_BYTES)


async def test_an_answer_that_never_ends_counts_by_its_status() -> None:
    async with listening() as target:
        target.replies = [b"HTTP/1.1 202 Told\r\nContent-Length: 4000\r\n\r\nyes"]
        target.hold = None
        reply = await Egress(read_allow_list(["127.0.0.1"])).post(target.url, b"", {})
        assert (reply.status, reply.body) == (202, b"yes")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"", "closed the connection"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", "no HTTP"),
    ],
)
async def test_odd_answers_are_failures_with_a_reason(reply: bytes, said: str) -> None:
    async with listening() as target:
        target.replies = [reply]
        with pytest.raises(EgressError, match=said):
            await Egress(read_allow_list(["127.0.0.1"])).post(target.url, b"", {})


async def test_a_target_that_does_not_answer_is_left_in_time() -> None:
    async with listening() as target:
        target.hold = asyncio.Event()
        egress = Egress(read_allow_list(["127.0.0.1"]), total_seconds=0.2)
        with pytest.raises(EgressError, match="no answer within"):
            await egress.post(target.url, b"", {})
        target.hold.set()


async def test_a_name_without_an_address_is_a_failure_with_a_reason() -> None:
    with pytest.raises(EgressError, match=r"missing\.test cannot be resolved"):
        await Egress(resolve=resolve).check("https://missing.test/")


@pytest.mark.parametrize(
    ("entry", "host", "port", "addresses", "covered"),
    [
        ("alerts.internal", "alerts.internal", 9093, ["10.0.0.5"], True),
        ("alerts.internal", "Alerts.Internal.", 443, ["10.0.0.5"], True),
        ("alerts.internal:9093", "alerts.internal", 443, ["10.0.0.5"], False),
        ("alerts.internal", "other.internal", 443, ["10.0.0.5"], False),
        ("alerts.internal", "x.alerts.internal", 443, ["10.0.0.5"], False),
        ("alerts.internal", "alerts.internal", 443, ["0.0.0.0"], False),
        ("alerts.internal", "alerts.internal", 443, ["224.0.0.1"], False),
        ("10.0.0.0/24", "any.internal", 80, ["10.0.0.5", "10.0.0.6"], True),
        ("10.0.0.0/24", "any.internal", 80, ["10.0.0.5", "10.0.1.6"], False),
        ("10.0.0.5", "10.0.0.5", 80, [], True),
        ("10.0.0.5:9093", "10.0.0.5", 9093, [], True),
        ("10.0.0.5:9093", "10.0.0.5", 9094, [], False),
        ("[fd00::5]:9093", "[fd00::5]", 9093, [], True),
        ("fd00::/64", "[fd00::5]", 9093, [], True),
        ("10.0.0.5", "[::ffff:10.0.0.5]", 80, [], False),
        ("0.0.0.0/0", "224.0.0.1", 80, [], False),
    ],
)
async def test_the_allow_list(entry: str, host: str, port: int, addresses: list[str], covered: bool) -> None:
    async def told(_host: str, _port: int) -> Sequence[str]:
        return addresses

    egress = Egress(read_allow_list([entry]), told)
    if covered:
        await egress.check(f"http://{host}:{port}/")
    else:
        with pytest.raises(BlockedError):
            await egress.check(f"http://{host}:{port}/")


@pytest.mark.parametrize(
    "entry", ["", "*", "*.internal", "a b", "http://a", "10.0.0.5/99", "host:0", "host:99999", "[::1"]
)
def test_an_entry_that_is_none_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="webhook_allow"):
        read_allow_list([entry])
