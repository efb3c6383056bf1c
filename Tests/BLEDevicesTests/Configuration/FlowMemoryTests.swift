import BLEProtocol
import Testing

@testable import BLEDevices

@Suite struct FlowMemoryTests {
    private static func device(_ number: Int) -> BluetoothAddress {
        BluetoothAddress(rawValue: UInt64(number), kind: .public)
    }

    @Test func `a device of which nothing is to be kept makes a full memory forget no other one`() {
        let (memory, count) = (FlowMemory<Int>(), FlowMemory<Int>.limit)
        for number in 0..<count { memory[Self.device(number)] = number }
        // As a configuration that has succeeded does.
        memory[Self.device(count)] = nil
        #expect((0..<count).allSatisfy { memory[Self.device($0)] == $0 })
        memory[Self.device(count)] = count
        #expect(memory[Self.device(count)] == count && memory[Self.device(0)] == nil)
    }
}
