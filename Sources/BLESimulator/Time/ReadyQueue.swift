/// The jobs that are runnable now.
struct ReadyQueue<Work: Sendable>: Sendable {
    private var works: [Work?] = []
    private var head = 0

    mutating func append(_ work: Work) { works.append(work) }

    /// Takes the oldest job.
    mutating func popFirst() -> Work? {
        guard head < works.count else { return nil }
        let work = works[head]
        works[head] = nil
        head += 1
        if head == works.count {
            works.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 1024, head * 2 > works.count {
            works.removeFirst(head)
            head = 0
        }
        return work
    }

    /// Takes a random job, as the generator decides. Don't mix it with ``popFirst()``.
    mutating func popAny(using random: inout SeededRandom) -> Work? {
        guard !works.isEmpty else { return nil }
        if works.count > 1 {
            works.swapAt(Int(random.next() % UInt64(works.count)), works.count - 1)
        }
        return works.removeLast()
    }
}
