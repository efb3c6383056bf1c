import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// Whether a bluetoothd that starts is noticed, on a bus that is made by hand.
@Suite(.timeLimit(.minutes(10)), .needsLibDBus) struct BluetoothdWatchTests {
    private let bus: FakeBus
    private let loop: EventLoop
    private let watch = BluetoothdWatch()

    init() throws {
        bus = try FakeBus(on: EventLoop(name: "test-bus"))
        loop = try EventLoop(name: "test")
    }

    /// Watches until the bus has been told what to tell.
    ///
    /// - Parameter departures: whether those that leave are told, not those that come.
    private func begun(
        on timeline: HandTimeline = HandTimeline(),
        departures: Bool = false
    ) async throws -> Events<Void> {
        let arrivals = Events<Void> { [watch, bus, loop] yield in
            loop.enqueue {
                watch.begin(over: bus.bus, loop: loop, timeline: timeline) {
                    if !departures { yield(()) }
                } left: {
                    if departures { yield(()) }
                }
            }
            return RadioActivity { watch.end() }
        }
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.9"))
        let match = try await bus.next("AddMatch")
        #expect(match.arguments.count == 1 && match.arguments[0].contains("arg0='org.bluez'"))
        #expect(match.arguments[0].contains("member='NameOwnerChanged'"))
        bus.send(.reply(to: match.serial))
        return arrivals
    }

    private func tell(_ arguments: [String], from sender: String = "org.freedesktop.DBus") {
        bus.send(.ownerChanged(arguments, from: sender))
    }

    @Test func `one that comes is told, and one that takes another's place; not one that goes, nor anybody else`()
        async throws
    {
        let arrivals = try await begun()
        tell(["org.bluez", ":1.7", ""])
        tell(["org.bluez.obex", "", ":1.8"])
        tell(["org.bluez", "", ":1.8"], from: ":1.66")
        tell(["org.bluez"])
        tell(["org.bluez", "", ":1.7"])
        #expect(await arrivals.next() != nil)
        tell(["org.bluez", ":1.7", ":1.8"])
        #expect(await arrivals.next() != nil)
        // What was told in between would have come by now.
        #expect(arrivals.count == 2)
    }

    @Test func `one that leaves is told, unless another one takes its place`() async throws {
        let departures = try await begun(departures: true)
        tell(["org.bluez", "", ":1.7"])
        tell(["org.bluez", ":1.7", ":1.8"])
        tell(["org.bluez.obex", ":1.8", ""])
        tell(["org.bluez", ":1.8", ""])
        #expect(await departures.next() != nil)
        #expect(departures.count == 1)
    }

    @Test func `a bus that ends the connection is tried again, and a bluetoothd that came with it is told`()
        async throws
    {
        let timeline = HandTimeline()
        let arrivals = try await begun(on: timeline)
        bus.disconnect()
        while !timeline.delays.contains(BluetoothdWatch.pauses.first) { await Task.yield() }
        timeline.fire()
        bus.send(.reply(to: try await bus.next("Hello").serial, ":1.2"))
        bus.send(.reply(to: try await bus.next("AddMatch").serial))
        #expect(await arrivals.next() != nil)
        tell(["org.bluez", "", ":1.7"])
        #expect(await arrivals.next() != nil)
        #expect(arrivals.count == 2)
    }

    @Test func `a bus that can't be reached at first is tried again, and a bluetoothd that came with it is told`()
        async throws
    {
        let (timeline, name) = (HandTimeline(), FakeBus.newName())
        let arrivals = Events<Void> { [watch, loop] yield in
            loop.enqueue {
                watch.begin(over: FakeBus.place(of: name), loop: loop, timeline: timeline) { yield(()) }
            }
            return RadioActivity { watch.end() }
        }
        let first = BluetoothdWatch.pauses.first
        for pause in [first, first * 2] {
            while !timeline.delays.contains(pause) { await Task.yield() }
            if pause == first { timeline.fire(pause) }
        }
        let late = try FakeBus(on: EventLoop(name: "late-bus"), as: name)
        timeline.fire(first * 2)
        late.send(.reply(to: try await late.next("Hello").serial, ":1.2"))
        late.send(.reply(to: try await late.next("AddMatch").serial))
        #expect(await arrivals.next() != nil)
        late.send(.ownerChanged(["org.bluez", "", ":1.7"]))
        #expect(await arrivals.next() != nil)
        #expect(arrivals.count == 2)
    }

    @Test func `one that is ended tries no bus again`() async throws {
        let timeline = HandTimeline()
        let arrivals = try await begun(on: timeline)
        bus.disconnect()
        while !timeline.delays.contains(BluetoothdWatch.pauses.first) { await Task.yield() }
        arrivals.activity.cancel()
        #expect(!timeline.delays.contains(BluetoothdWatch.pauses.first))
    }

    @Test func `its connection is closed in the end`() async throws {
        let arrivals = try await begun()
        arrivals.activity.cancel()
        var messages = bus.messages.makeAsyncIterator()
        #expect(await messages.next() == nil)
    }

    @Test func `one that was ended before the bus has answered keeps no connection`() async throws {
        loop.enqueue { [watch, bus, loop] in
            watch.begin(over: bus.bus, loop: loop, timeline: HandTimeline()) {}
        }
        let hello = try await bus.next("Hello")
        watch.end()
        bus.send(.reply(to: hello.serial, ":1.9"))
        var messages = bus.messages.makeAsyncIterator()
        #expect(await messages.next() == nil)
    }
}
