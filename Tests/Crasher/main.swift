// Crashes with secrets in its hands, for a test that reads what is printed then: `Crasher HOW`. It has paired with a
// passkey, holds the bond and a value that was read over the encrypted link, and goes on in one of these ways.

import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Glibc
import RadioDoubles

/// What it holds.
struct Secrets {
    var value: [UInt8]
    var bonds: [Bond]
    var answers: PairingAnswers
    var key: SecretKey?
}

/// Crashes while it works with them.
@inline(never)
func crash(_ how: String, _ secrets: Secrets) {
    switch how {
    // As a program that counts wrong.
    case "index": print(secrets.value[secrets.value.count + secrets.bonds.count])
    // As one that prints what it has.
    case "message":
        let bond = Bond.planted(1, with: peer)
        fatalError("this can't be: \(secrets.bonds) \(bond) \(secrets.answers) \(secrets.key as Any)")
    // As one whose memory is broken.
    case "memory": print(secrets.value.count, UnsafePointer<UInt8>(bitPattern: 8)?.pointee as Any)
    // In the midst of work on the octets themselves: their place is in a register.
    case "work":
        guard let nowhere = UnsafeMutableRawPointer(bitPattern: 8) else { exit(2) }
        secrets.value.withUnsafeBytes {
            if let octets = $0.baseAddress { nowhere.copyMemory(from: octets, byteCount: 8) }
        }
    default: exit(2)
    }
    // Alive until here.
    withExtendedLifetime(secrets) {}
}

let secret = BluetoothUUID(0xB001)
let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
let vault = LocalPeripheral(name: "Vault") {
    LocalService(BluetoothUUID(0xB000)) {
        LocalCharacteristic(secret, [.read], value: .stored(Planted.value), access: .authenticated)
    }
}

guard CommandLine.arguments.count == 2 else { exit(2) }
try await VirtualTime.run(seed: 1) { time in
    let air = SimulatedAir(time)
    let far = air.adapter(settings: AdapterSettings(pairing: .showsPasskey(Planted.passkey)))
    let central = try await Central.open(.radio(air.adapter()), store: .inMemory())
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await vault.run(on: far) { for try await _ in $0.centralEvents {} } }
        let answers = PairingAnswers.passkey(Planted.passkey)
        try await central.peripheral(far.address).withLink(pairing: answers) { link in
            let value = Array(try await link.read(secret).bytes)
            let bonds = try central.bonds
            guard link.security.isAuthenticated, value == Planted.value, !bonds.isEmpty else { exit(3) }
            let key = SecretKey(octets: Planted.octets())
            crash(CommandLine.arguments[1], Secrets(value: value, bonds: bonds, answers: answers, key: key))
        }
        group.cancelAll()
    }
}
exit(4)
