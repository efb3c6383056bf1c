import BLERadio
import Dispatch
import Synchronization
import Testing

@Suite struct AnnouncementsTests {
    @Test func `a call that puts another one in has it made behind those that wait`() {
        let announcements = Announcements()
        let made = Mutex<[Int]>([])
        announcements.add {
            made.withLock { $0.append(1) }
            announcements.add { made.withLock { $0.append(3) } }
            announcements.make()
        }
        announcements.add { made.withLock { $0.append(2) } }
        #expect(made.withLock { $0.isEmpty })
        announcements.make()
        #expect(made.withLock { $0 } == [1, 2, 3])
        announcements.make()
        #expect(made.withLock { $0.count } == 3)
    }

    @Test func `calls of many threads are made once, one at a time, in the order of each thread`() {
        let announcements = Announcements()
        let made = Mutex<[(thread: Int, number: Int)]>([])
        let inside = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<500 {
                announcements.add {
                    #expect(inside.add(1, ordering: .relaxed).oldValue == 0)
                    made.withLock { $0.append((thread, number)) }
                    inside.subtract(1, ordering: .relaxed)
                }
                announcements.make()
            }
        }
        // Whoever came last has left it to one who was at work, and that one is done when all are.
        for thread in 0..<8 {
            #expect(made.withLock { $0.filter { $0.thread == thread }.map(\.number) } == Array(0..<500))
        }
    }
}
