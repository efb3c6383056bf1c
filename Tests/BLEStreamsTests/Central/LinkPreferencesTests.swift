import BLEProtocol
import Testing

@testable import BLEStreams

@Suite struct LinkPreferencesTests {
    @Test func `what was set for a peripheral and is removed is not kept`() {
        let preferences = LinkPreferences(nil, nil, KnownIdentities())
        let (battery, name) = (BluetoothUUID(0x2A19), BluetoothUUID(0x2A00))
        for number: UInt64 in 1...20 {
            let peer = BluetoothAddress(rawValue: 0x4000_0000_0000 + number, kind: .random)
            preferences.demand(.encrypted, for: .uuid(battery, service: nil), of: peer)
            preferences.demand(.authenticated, for: .uuid(name, service: nil), of: peer)
            preferences.set(ConnectionParameters.fast, for: peer)
            preferences.set(PairingAnswers(), for: peer)
            #expect(preferences.count == 3)
            preferences.demand(nil, for: .uuid(battery, service: nil), of: peer)
            #expect(!preferences.demands(on: peer).isEmpty)
            preferences.demand(nil, for: .uuid(name, service: nil), of: peer)
            preferences.set(nil as ConnectionParameters?, for: peer)
            preferences.set(nil as PairingAnswers?, for: peer)
            #expect(preferences.demands(on: peer).isEmpty && preferences.count == 0)
        }
    }
}
