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
        // Later than soon.
        let evidence = read(9, every: .milliseconds(1), &pace, from: .milliseconds(80))
        #expect(evidence == Array(repeating: .wait, count: 8) + [.pause], "it takes as much evidence as before")
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

    @Test func `what comes together anyway is not let wait`() {
        var pace = ReadingPace.ofLinks
        let together = (0..<100).map { pace.read(pace.plenty, at: .milliseconds($0), mayPause: true) }
        #expect(together.allSatisfy { $0 == .wait })
    }

    /// How many readings, one each millisecond, it takes until the next pause.
    private func readings(untilPaused pace: inout ReadingPace, from start: Int) -> Int {
        for count in 1...5000 where pace.read(1, at: .milliseconds(start + count), mayPause: true) == .pause {
            return count
        }
        return 0
    }

    @Test func `a pause that found much is followed by a rest, twice as long each time, until one was worth it`() {
        var (pace, now, rests) = (ReadingPace.ofLinks, 0, [Int]())
        for round in 0..<9 {
            let count = readings(untilPaused: &pace, from: now)
            rests.append(count)
            now += count + 5
            // The last but one is worth it.
            let found = round == 7 ? [2, pace.plenty] : [pace.plenty]
            let steps = found.map { pace.read($0, at: .milliseconds(now), mayPause: true) }
            #expect(steps.last == .resume)
        }
        #expect(rests == [9, 20, 40, 80, 160, 320, 640, 1000, 20])
    }

    @Test func `where a pause was worth it, little evidence is enough for the next one`() {
        var pace = ReadingPace.ofLinks
        _ = read(9, every: .milliseconds(1), &pace)
        let found = [5, 0].enumerated().map { pace.read($1, at: .milliseconds(14 + 5 * $0), mayPause: true) }
        #expect(found == [.lookAgain, .resume])
        let next = read(2, every: .milliseconds(1), &pace, from: .milliseconds(20))
        #expect(next == [.wait, .pause])
        let again = pace.read(1, at: .milliseconds(26), mayPause: true)
        #expect(again == .resume)
        let steps = read(9, every: .milliseconds(1), &pace, from: .milliseconds(27))
        #expect(steps == Array(repeating: .wait, count: 8) + [.pause], "a pause that was not worth it proves nothing")
    }

    @Test func `a pause for a single PDU of a link is the last one, and one every two milliseconds is no reason`() {
        var pace = ReadingPace.ofLinks
        let slow = read(100, every: .milliseconds(2), &pace)
        #expect(slow.allSatisfy { $0 == .wait })
        _ = read(9, every: .milliseconds(1), &pace, from: .milliseconds(300))
        #expect(pace.isPaused)
        let found = [2, 1].enumerated().map { pace.read($1, at: .milliseconds(320 + 5 * $0), mayPause: true) }
        #expect(found == [.lookAgain, .resume])
    }
}
