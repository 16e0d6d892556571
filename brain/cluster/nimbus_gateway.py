"""One port for several Nimbuses on one machine.

Storm's clients look for every seed host on one and the same port, and Nimbus binds that port on
every address, so two Nimbuses on one machine cannot both be seeds. This gateway is the seed: it
passes each connection on to the first Nimbus that accepts it, which then names the leader.

    python -m brain.cluster.nimbus_gateway PORT HOST:PORT HOST:PORT ...
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from functools import partial

Address = tuple[str, int]


async def serve(port: int, targets: Sequence[Address]) -> None:
    server = await asyncio.start_server(partial(_relay, targets), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


async def _relay(
    targets: Sequence[Address], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    for host, port in targets:
        try:
            up_reader, up_writer = await asyncio.open_connection(host, port)
        except OSError:
            continue
        await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer))
        return
    writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except ConnectionError:
        pass  # one end went away: the other is closed below, as it would be without us
    finally:
        writer.close()


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), [_address(target) for target in sys.argv[2:]]))
