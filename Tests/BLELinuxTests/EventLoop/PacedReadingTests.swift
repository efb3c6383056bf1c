import BLERadio
import Testing

@testable import BLELinux

/// What a pace does to the socket and the timer.
struct PacedReadingTests {
    private let timeline = HandTimeline(step: .milliseconds(1))

    @Test func `a socket that the loop can't wait for again is read after each interval`() throws {
        let loop = try EventLoop(name: "test")
        let (near, _) = try UDPSocket.pair()
        let socket = near.shared
        let registration = try loop.register(socket.descriptor, for: .readable) { _, _ in }
        let reading = PacedReading(.ofAdvertisements, on: loop, timeline)
        reading.begin(registration) { _ in }
        for _ in 0..<9 { reading.hasRead(1, of: socket.descriptor, mayPause: true) }
        #expect(timeline.delays == [ReadingPace.ofAdvertisements.interval])
        // From now on, every change of what it waits for fails.
        loop.unregister(registration, of: socket.descriptor)
        for _ in 0..<3 {
            timeline.fire()
            reading.hasRead(0, of: socket.descriptor, mayPause: true)
            #expect(timeline.delays == [ReadingPace.ofAdvertisements.interval])
        }
        reading.hurry(socket.descriptor)
        #expect(reading.end() == registration)
        #expect(timeline.delays == [])
    }

    @Test func `a socket for which nothing can be changed is read as before`() throws {
        let loop = try EventLoop(name: "test")
        let (near, _) = try UDPSocket.pair()
        let socket = near.shared
        let registration = try loop.register(socket.descriptor, for: .readable) { _, _ in }
        loop.unregister(registration, of: socket.descriptor)
        let reading = PacedReading(.ofAdvertisements, on: loop, timeline)
        reading.begin(registration) { _ in }
        for _ in 0..<20 { reading.hasRead(1, of: socket.descriptor, mayPause: true) }
        #expect(timeline.delays == [])
        _ = reading.end()
    }

    @Test func `nothing is timed for a socket that has ended`() throws {
        let loop = try EventLoop(name: "test")
        let (near, _) = try UDPSocket.pair()
        let reading = PacedReading(.ofAdvertisements, on: loop, timeline)
        for _ in 0..<20 { reading.hasRead(1, of: near.shared.descriptor, mayPause: true) }
        #expect(timeline.delays == [])
    }
}
