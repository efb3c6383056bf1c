internal import BLEProtocol
internal import CBluetooth

/// Room for one batch of datagrams, and what the kernel reports about each; every loop has one and lends it to its
/// handlers.
package final class ReceiveBuffer {
    /// The largest datagram, in octets. ATT needs 672; management events are the longest datagrams.
    static let slotSize = 2048
    /// The largest number of datagrams that one system call returns.
    static let slots = Int(CBLUETOOTH_MAXIMUM_BATCH)

    private let octets: UnsafeMutablePointer<UInt8>
    private let datagrams: UnsafeMutablePointer<CBluetooth_Datagram>
    private let batch: OpaquePointer?

    init() {
        octets = .allocate(capacity: Self.slots * Self.slotSize)
        datagrams = .allocate(capacity: Self.slots)
        datagrams.initialize(repeating: CBluetooth_Datagram(), count: Self.slots)
        batch = CBluetooth_make_batch(octets, Self.slotSize)
    }

    deinit {
        CBluetooth_free_batch(batch)
        octets.deallocate()
        datagrams.deallocate()
    }

    /// Reads what waits at a socket, at most one batch. The corresponding C function is `recvmmsg`.
    fileprivate func fill(from socket: Int32, of kernel: Kernel) throws(SystemError) -> Int {
        guard let batch else { throw .noMemory }
        return Int(
            try kernel.call {
                CBluetooth_receive(socket, batch, datagrams)
            } orOf: {
                receive(socket, $0)
            }
        )
    }

    private func receive(_ socket: Int32, _ substitute: any SystemCalls) -> Int32 {
        var received: [ReceivedDatagram] = []
        let count = substitute.receive(socket, &received)
        for (index, datagram) in received.prefix(Self.slots).enumerated() {
            let kept = datagram.octets.prefix(Self.slotSize)
            _ = UnsafeMutableBufferPointer(start: octets + index * Self.slotSize, count: kept.count)
                .update(fromContentsOf: kept)
            var facts = CBluetooth_Datagram()
            facts.length = UInt32(kept.count)
            facts.hasDropped = datagram.dropped != nil
            facts.dropped = datagram.dropped ?? 0
            facts.hasTime = datagram.time != nil
            facts.seconds = datagram.time?.seconds ?? 0
            facts.nanoseconds = datagram.time?.nanoseconds ?? 0
            datagrams[index] = facts
        }
        return count
    }

    /// The octets of a datagram of the batch.
    func bytes(_ index: Int) -> [UInt8] {
        let start = octets + index * Self.slotSize
        return [UInt8](UnsafeBufferPointer(start: start, count: Int(datagrams[index].length)))
    }

    /// The largest array that datagrams share, in octets; a longer datagram has its own array.
    static let sharedOctets = 992

    /// The octets of datagrams, from `first` up to the returned end, in one array: for many small ones this avoids most
    /// allocations, and whoever keeps one keeps no more than ``sharedOctets``.
    func run(from first: Int, of count: Int) -> (end: Int, octets: [UInt8]) {
        var (end, size) = (first + 1, length(first))
        while end < count, size + length(end) <= Self.sharedOctets {
            size += length(end)
            end += 1
        }
        // Zeroed first: an array without contents is made by the library's own code, which looks up its metadata.
        var shared = [UInt8](repeating: 0, count: size)
        shared.withUnsafeMutableBytes { target in
            var position = 0
            for index in first..<end {
                let datagram = UnsafeRawBufferPointer(start: octets + index * Self.slotSize, count: length(index))
                UnsafeMutableRawBufferPointer(rebasing: target[position...]).copyMemory(from: datagram)
                position += datagram.count
            }
        }
        return (end, shared)
    }

    func length(_ index: Int) -> Int { Int(datagrams[index].length) }

    func isEmpty(_ index: Int) -> Bool { datagrams[index].length == 0 }

    /// When the kernel received a datagram; `nil` if it doesn't say.
    func kernelTime(_ index: Int) -> ReceptionTime? {
        let datagram = datagrams[index]
        guard datagram.hasTime else { return nil }
        let sinceEpoch = Duration(
            secondsComponent: datagram.seconds,
            attosecondsComponent: datagram.nanoseconds * 1_000_000_000
        )
        return ReceptionTime(sinceEpoch: sinceEpoch, source: .kernel)
    }

    /// How many datagrams the socket had dropped when it received this one; `nil` if the kernel doesn't say.
    func dropped(_ index: Int) -> UInt32? {
        datagrams[index].hasDropped ? datagrams[index].dropped : nil
    }
}

extension FileDescriptor {
    /// Reads what has arrived, at most one batch, without waiting. The corresponding C function is `recvmmsg`.
    func receive(into buffer: ReceiveBuffer) throws(SystemError) -> Int { try buffer.fill(from: rawValue, of: kernel) }
}
