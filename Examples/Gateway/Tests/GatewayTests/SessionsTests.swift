import BLESimulator
import BLEStreams
import Foundation
import TestBroker
import Testing

@testable import Gateway

/// Several devices of one name, which gateways share: they have one label.
@Suite(.timeLimit(.minutes(5))) struct SessionsTests {
    private let addresses: [UInt64] = [0xC4F2_171A_1DBB, 0xC4F2_171A_1DBC]

    @Test func `devices that share a label have a state each, and the end of one leaves the other`() async throws {
        let folder = try temporaryFolder("sessions")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let leases = try LeaseDriver(.init(), spool: "\(folder)/spool") { Issue.record("\($0)") }
        let addresses = addresses.map { BluetoothAddress(rawValue: $0, kind: .random) }
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()))
            try await central.withFleet { fleet in
                let sessions = Sessions()
                let followed = addresses.map { address in
                    let peripheral = Configuration.Peripheral(label: "hall", name: "Sensor")
                    let lease = Lease(driver: leases, tenure: Tenure(peripheral: peripheral, address: address))
                    let session = fleet.add(Session.Plan(address))
                    sessions.add("hall", session, lease)
                    return session
                }
                #expect(sessions.states.map(\.label) == addresses.map { "hall \($0)" })
                sessions.remove("hall", followed[0])
                #expect(sessions.states.map(\.label) == ["hall"])
                #expect(sessions.contains("hall"))
                sessions.remove("hall", followed[1])
                #expect(sessions.states.isEmpty && !sessions.contains("hall"))
            }
        }
    }

    @Test func `a command goes to the device that is followed still`() async throws {
        let addresses = addresses.map { BluetoothAddress(rawValue: $0, kind: .random) }
        try await VirtualTime.run { time in
            let central = try await Central.open(.radio(SimulatedAir(time).adapter()))
            try await central.withFleet { fleet in
                let sessions = Sessions()
                let followed = addresses.map { fleet.add(Session.Plan($0)) }
                for session in followed { sessions.add("hall", session, nil) }
                #expect(sessions["hall"] === followed[0])
                sessions.remove("hall", followed[0])
                #expect(sessions["hall"] === followed[1])
                sessions.remove("hall", followed[1])
                #expect(sessions["hall"] == nil)
            }
        }
    }
}
