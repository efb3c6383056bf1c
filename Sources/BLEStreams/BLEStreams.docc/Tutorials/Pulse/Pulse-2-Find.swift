import BLEDevices

let central = try await Central.open()
let sensor = try await central.scan(for: .service(.heartRate)).timeout(.seconds(10)).first().peripheral
print("found \(sensor)")
