import BLERadio
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@Suite struct EndingTests {
    @Test func `an end that comes first undoes what is named later, at once`() {
        let (ending, undone) = (Ending<Void>(), Recorder<Int>())
        #expect(ending.end())
        ending.undo { undone.add(1) }
        ending.cancel(RadioActivity { undone.add(2) })
        #expect(undone.all == [1, 2])
    }

    @Test func `who came before the end is called in order, once, with the first reason`() {
        let (ending, heard) = (Ending<String>(), Recorder<String>())
        for name in ["a", "b", "c"] { ending.whenEnded { heard.add(name + $0) } }
        #expect(!ending.hasEnded && ending.reason == nil)
        #expect(ending.end("1"))
        #expect(!ending.end("2"))
        ending.whenEnded { heard.add("d" + $0) }
        #expect(heard.all == ["a1", "b1", "c1", "d1"] && ending.reason == "1")
    }

    @Test func `who has taken the wish back is not called`() {
        let (ending, heard) = (Ending<Void>(), Recorder<Int>())
        let forget = ending.whenEnded { _ in heard.add(1) }
        ending.whenEnded { _ in heard.add(2) }
        forget()
        forget()
        ending.end()
        forget()
        #expect(heard.all == [2])
    }

    @Test func `one thing is undone instead of another, which is let go and not undone`() {
        let (ending, undone) = (Ending<Void>(), Recorder<Int>())
        ending.undoInstead { undone.add(1) }
        ending.undoInstead { undone.add(2) }
        ending.end()
        ending.undoInstead { undone.add(3) }
        #expect(undone.all == [2, 3])
    }

    @Test func `no lock is held while one is called or let go: it may come back`() {
        let (ending, heard) = (Ending<Void>(), Recorder<Int>())
        ending.whenEnded { _ in
            heard.add(1)
            ending.end()
            ending.whenEnded { _ in heard.add(2) }
        }
        let forget = ending.whenEnded { [held = RadioActivity { ending.end() }] _ in _ = held }
        forget()
        #expect(heard.all == [1, 2], "what was taken back ended it as it was let go")
    }

    @Test func `on real threads each is called exactly once, whether it came before or after`() {
        for _ in 0..<50 {
            let (ending, reasons) = (Ending<Int>(), Recorder<Int>())
            let calls = Atomic(0)
            let ends = Atomic(0)
            DispatchQueue.concurrentPerform(iterations: 64) { number in
                if number % 8 == 3 {
                    if ending.end(number) { ends.add(1, ordering: .relaxed) }
                } else {
                    ending.whenEnded {
                        reasons.add($0)
                        calls.add(1, ordering: .relaxed)
                    }
                }
            }
            #expect(calls.load(ordering: .relaxed) == 56 && ends.load(ordering: .relaxed) == 1)
            #expect(Set(reasons.all).count == 1)
        }
    }
}
