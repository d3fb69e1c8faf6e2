"""The channel between workers and reader: nothing handed over is lost, nothing piles up."""

from __future__ import annotations

import asyncio

import pytest

from judgeharness_integrations.judging.execution.agenda import Channel


def test_items_come_in_order_and_then_none() -> None:
    async def scene() -> list[int | None]:
        channel: Channel[int] = Channel(10)
        for item in range(3):
            channel.add(item)
        channel.end()
        return [await channel.get() for _ in range(5)]

    assert asyncio.run(scene()) == [0, 1, 2, None, None]


def test_an_error_follows_the_last_item() -> None:
    async def scene() -> None:
        channel: Channel[int] = Channel(10)
        channel.add(1)
        channel.end(ValueError("later"))
        assert await channel.get() == 1
        with pytest.raises(ValueError, match="later"):
            await channel.get()

    asyncio.run(scene())


def test_a_reader_waits_for_the_next_item_and_for_the_end() -> None:
    async def scene() -> tuple[int | None, int | None]:
        channel: Channel[int] = Channel(10)
        first = asyncio.create_task(channel.get())
        await asyncio.sleep(0)
        channel.add(7)
        second_item = await first
        second = asyncio.create_task(channel.get())
        await asyncio.sleep(0)
        channel.end()
        return second_item, await second

    assert asyncio.run(scene()) == (7, None)


def test_a_cancelled_reader_misses_nothing() -> None:
    async def scene() -> int | None:
        channel: Channel[int] = Channel(10)
        reader = asyncio.create_task(channel.get())
        await asyncio.sleep(0)
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        channel.add(1)
        return await channel.get()

    assert asyncio.run(scene()) == 1


def test_writers_wait_for_room_but_never_with_an_item_in_hand() -> None:
    async def scene() -> list[int]:
        channel: Channel[int] = Channel(2)
        unread: list[int] = []

        async def write(number: int) -> None:
            for step in range(3):
                channel.add(10 * number + step)
                await channel.room()

        writers = [asyncio.create_task(write(number)) for number in range(3)]
        while not all(writer.done() for writer in writers):
            await asyncio.sleep(0)
            unread.append(len(channel._unread))
            await channel.get()
        return unread

    assert max(asyncio.run(scene())) <= 2 + 3


def test_a_cancelled_writer_does_not_hold_up_the_reader() -> None:
    async def scene() -> list[int | None]:
        channel: Channel[int] = Channel(1)
        channel.add(1)
        channel.add(2)
        writer = asyncio.create_task(channel.room())
        await asyncio.sleep(0)
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        return [await channel.get(), await channel.get()]

    assert asyncio.run(scene()) == [1, 2]
