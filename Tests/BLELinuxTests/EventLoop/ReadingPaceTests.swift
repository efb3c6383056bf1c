import Testing

@testable import BLELinux

/// When a socket is read at once, and when every few milliseconds.
struct ReadingPaceTests {
    /// Reads so often, each time one datagram.
    private func read(
        _ times: Int,
        every gap: Duration,
        mayPause: Bool = true,
        _ pace: inout ReadingPace,
        from start: Duration = .zero
    ) -> [ReadingPace.Step] {
        (0..<times).map { pace.read(1, at: start + gap * $0, mayPause: mayPause) }
    }

    @Test func `where much comes, reading pauses, and goes on until nothing is found`() {
        var pace = ReadingPace.ofAdvertisements
        let steps = read(9, every: .milliseconds(2), &pace)
        #expect(steps == Array(repeating: .wait, count: 8) + [.pause])
        let paused = [7, 1, 0].enumerated().map { turn, count in
            pace.read(count, at: .milliseconds(30 + 11 * turn), mayPause: true)
        }
        #expect(paused == [.lookAgain, .lookAgain, .resume])
        #expect(!pace.isPaused)
        let evidence = read(8, every: .milliseconds(1), &pace, from: .milliseconds(53))
        #expect(evidence.allSatisfy { $0 == .wait }, "it takes as much evidence as before")
    }

    @Test func `what comes now and then is read at once`() {
        var pace = ReadingPace.ofAdvertisements
        let steps = read(100, every: ReadingPace.ofAdvertisements.interval, &pace)
        #expect(steps.allSatisfy { $0 == .wait })
    }

    @Test func `a clock that stands still shows no rate`() {
        var pace = ReadingPace.ofAdvertisements
        let steps = read(100, every: .zero, &pace)
        #expect(steps.allSatisfy { $0 == .wait })
    }

    @Test func `wake-ups that find nothing are no rate`() {
        var pace = ReadingPace.ofAdvertisements
        let steps = (0..<100).map { pace.read(0, at: .milliseconds($0), mayPause: true) }
        #expect(steps.allSatisfy { $0 == .wait })
    }

    @Test func `while an answer is awaited, nothing is paused`() {
        var pace = ReadingPace.ofAdvertisements
        let awaited = read(100, every: .milliseconds(1), mayPause: false, &pace)
        #expect(awaited.allSatisfy { $0 == .wait })
        let answered = pace.read(1, at: .milliseconds(100), mayPause: true)
        #expect(answered == .pause)
        let next = pace.read(9, at: .milliseconds(110), mayPause: false)
        #expect(next == .resume)
        #expect(!pace.isPaused)
    }

    @Test func `whoever is in a hurry ends a pause`() {
        var pace = ReadingPace.ofAdvertisements
        _ = read(9, every: .milliseconds(1), &pace)
        let hurries = (0..<2).map { _ in pace.hurry() }
        #expect(hurries == [true, false])
        let next = pace.read(1, at: .milliseconds(9), mayPause: true)
        #expect(next == .wait)
    }

    @Test func `a socket that can't be waited for is read after the next interval`() {
        var pace = ReadingPace.ofAdvertisements
        _ = read(9, every: .milliseconds(1), &pace)
        let first = pace.read(0, at: .milliseconds(20), mayPause: true)
        pace.stayPaused()
        let second = pace.read(0, at: .milliseconds(30), mayPause: true)
        #expect([first, second] == [.resume, .resume])
    }

    @Test func `what comes together anyway is not let wait, and nor is it for a while after a pause that found much`() {
        var pace = ReadingPace.ofLinks
        let together = (0..<100).map { pace.read(pace.plenty, at: .milliseconds($0), mayPause: true) }
        #expect(together.allSatisfy { $0 == .wait })
        _ = read(9, every: .milliseconds(1), &pace, from: .milliseconds(100))
        #expect(pace.isPaused)
        let found = pace.read(pace.plenty, at: .milliseconds(115), mayPause: true)
        #expect(found == .resume)
        let resting = read(100, every: .milliseconds(4), &pace, from: .milliseconds(116))
        #expect(resting.allSatisfy { $0 == .wait })
        let later = read(200, every: .milliseconds(4), &pace, from: .milliseconds(516))
        #expect(later.contains(.pause))
    }
}
