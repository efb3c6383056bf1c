import Foundation
import FuzzedProcedures
import Testing

@testable import BLEProtocol

@Suite struct GATTClientFuzzTests {
    @Test(arguments: 0..<100)
    func `no peer makes the machine trap, lose a procedure or send what is too long`(seed: Int) {
        var run = Run(seed: UInt64(seed))
        for _ in 0..<400 { run.step() }
        run.end()
        #expect(run.faults.isEmpty, "seed \(seed): \(run.faults)")
    }

    @Test func `every procedure of the sources is run`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../Sources/BLEProtocol/GATT/Procedures").standardized
        var names: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources.path) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            names.formUnion(text.matches(of: #/struct (\w+): GATTProcedure/#).map { String($0.1) })
        }
        var generator = SeededGenerator(seed: 1)
        let run = (0..<FuzzedProcedure.count).map { kind in
            String(describing: type(of: FuzzedProcedure.make(kind, from: &generator)))
        }
        #expect(names.count > 10 && names == Set(run), "add it to Tests/FuzzedProcedures/FuzzedProcedure.swift")
    }

    @Test func `a peer that repeats itself makes no list longer than its range, and comes to an end`() {
        let range: ClosedRange<UInt16> = 1...0x0080
        // Each answer leads on by one handle, and holds the same entry as often as it can.
        let services = requests(of: DiscoverServices(in: range)) { start in
            [0x11, 6] + entries(80, [octets(start), octets(start), [0x00, 0x18]])
        }
        #expect(services == 0x0080)
        let byUUID = requests(of: DiscoverServicesByUUID(BluetoothUUID(0x1800), in: range)) { start in
            [0x07] + entries(120, [octets(start), octets(start)])
        }
        #expect(byUUID == 0x0080)
        let characteristics = requests(of: DiscoverCharacteristics(in: range)) { start in
            [0x09, 7] + entries(70, [octets(start), [2], octets(start &+ 1), [0, 0x2A]])
        }
        #expect(characteristics == 0x0080)
        let descriptors = requests(of: DiscoverDescriptors(in: [range])) { start in
            [0x05, 1] + entries(120, [octets(start), [2, 0x29]])
        }
        #expect(descriptors == 0x0080)
        let values = requests(of: ReadByUUID(BluetoothUUID(0x2A19), in: range)) { start in
            [0x09, 3] + entries(120, [octets(start), [1]])
        }
        #expect(values == 0x0080)
    }

    private func octets(_ handle: UInt16) -> [UInt8] { [UInt8(handle & 0xFF), UInt8(handle >> 8)] }

    /// An entry of these fields, so many times.
    private func entries(_ count: Int, _ fields: [[UInt8]]) -> [UInt8] {
        Array(repeatElement(Array(fields.joined()), count: count).joined())
    }

    /// Runs a search against a peer that answers by the start handle; how many requests it took. What it finds must
    /// fit its range.
    private func requests<P: GATTProcedure, Entry>(of procedure: P, _ answer: (UInt16) -> [UInt8]) -> Int
    where P.Success == [Entry] {
        var client = GATTClient(maximumMTU: 517)
        client.setMTU(517)
        var (_, output) = client.begin(procedure)
        var count = 0
        while output.finished.isEmpty, let request = client.nextPDU(), count < 0x10000 {
            count += 1
            _ = client.sent()
            output = client.received(answer(UInt16(request[1]) | UInt16(request[2]) << 8), at: Bearer.time)
        }
        guard case .success(let found)? = output.finished.first?.result, let list = found.value(as: P.Success.self)
        else {
            Issue.record("\(P.self) ended with \(output.finished)")
            return count
        }
        #expect(list.count <= 0x0080)
        return count
    }
}

/// One conversation with a fuzzed peer, and what must hold all along.
private struct Run {
    private var client = GATTClient(maximumMTU: 517)
    private var peer: FuzzedPeer
    private var open: Set<GATTClient.ProcedureID> = []
    private var request: [UInt8]?
    private var timer: GATTClient.TimerID?
    private var indications = 0
    private(set) var faults: [String] = []

    init(seed: UInt64) { peer = FuzzedPeer(generator: SeededGenerator(seed: seed)) }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &peer.generator) {
        case 0..<20: begin()
        case 20..<25:
            guard let id = open.sorted().randomElement(using: &peer.generator) else { return }
            let output = client.cancel(id)
            if !output.finished.contains(where: { $0.id == id }) { faults.append("\(id) was not cancelled") }
            take(output)
        case 25..<27: client.setMTU(Int.random(in: 0...600, using: &peer.generator))
        case 27:
            guard peer.generator.chance(10), let timer else { return }
            self.timer = nil
            request = nil
            take(client.timerFired(timer))
        case 28..<65: send()
        default:
            let pdu = peer.says(after: request)
            if pdu.first == 0x1D, client.closed == nil { indications += 1 }
            let wasOpen = request
            let output = client.received(pdu, at: Bearer.time)
            if case .stop = output.timer { request = nil }
            if output.timer != nil, wasOpen == nil { faults.append("an answer to nothing stopped the timer") }
            take(output)
        }
    }

    mutating func end() {
        take(client.ended(DisconnectReason(.closedLocally)))
        if !open.isEmpty { faults.append("never finished: \(open)") }
        if timer != nil { faults.append("the timer was left running") }
        if client.nextPDU() != nil { faults.append("something is sent on a closed bearer") }
    }

    private mutating func send() {
        guard let pdu = client.nextPDU() else { return }
        if pdu.count > 517 { faults.append("a PDU of \(pdu.count) octets") }
        if client.nextPDU() != pdu { faults.append("the next PDU changed") }
        guard !peer.generator.chance(20) else { return }
        take(client.sent())
        let opcode = ATTOpcode(rawValue: pdu[0])
        switch opcode.kind {
        case .request:
            if request != nil { faults.append("a second request while one is open") }
            if timer == nil { faults.append("no timer for a request") }
            request = pdu
        case .confirmation:
            indications -= 1
            if indications < 0 { faults.append("a confirmation for nothing") }
        case .command: break
        default: faults.append("a client sends \(opcode)")
        }
    }

    private mutating func take(_ output: GATTClient.Output) {
        for finished in output.finished where open.remove(finished.id) == nil {
            faults.append("\(finished.id) ended twice")
        }
        switch output.timer {
        case .start(let id, _): timer = id
        case .stop: timer = nil
        case nil: break
        }
        if output.notes.count > 1 { faults.append("more than a line: \(output.notes)") }
    }

    private mutating func begin() {
        let kind = Int.random(in: 0..<FuzzedProcedure.count, using: &peer.generator)
        let (id, output) = client.begin(FuzzedProcedure.make(kind, from: &peer.generator))
        open.insert(id)
        take(output)
    }
}
