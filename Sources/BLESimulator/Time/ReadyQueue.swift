/// The order in which ``VirtualTime`` runs the jobs that are runnable now.
public enum JobOrder: Hashable, Sendable {
    /// Random, determined by the seed: finds code that depends on an unspecified order.
    case shuffled
    /// In the order in which they became runnable.
    case firstInFirstOut
    /// Random, and one job in sixteen runs late, by up to this much virtual time, as on a busy machine: finds code that
    /// depends on a task continuing immediately.
    case delayed(upTo: Duration)
}

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
