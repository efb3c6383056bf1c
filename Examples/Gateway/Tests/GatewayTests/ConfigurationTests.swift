import Leases
import Testing

@testable import Gateway

@Suite("A configuration")
struct ConfigurationTests {
    private func read(_ text: String) throws(ConfigurationError) -> Configuration {
        try Configuration(json: Array(text.utf8))
    }

    @Test("has sensible values for what is not written")
    func defaults() throws {
        let configuration = try read(#"{ "spool": { "folder": "/tmp/x" } }"#)
        #expect(configuration.broker == Configuration.Broker())
        #expect(configuration.permissions.isEmpty)
        #expect(configuration.advertisements == nil)
        #expect(configuration.metricsPort == nil)
        #expect(configuration.leases == nil)
        #expect(configuration.sparkplug == nil)
    }

    @Test("is read whole")
    func whole() throws {
        let configuration = try read(
            #"""
            {
                "broker": { "host": "b", "clientID": "c", "inFlight": 10, "tls": { "authorities": "/ca.pem" } },
                "prefix": "home/ble", "adapters": ["hci0", "hci1"],
                "peripherals": [
                    { "address": "C4:F2:17:1A:1D:BB", "label": "kitchen",
                      "characteristics": [{ "uuid": "2A6E", "service": "181A" }] },
                    { "name": "Heart / 1" }
                ],
                "advertisements": { "windowSeconds": 5, "services": ["181A"] },
                "spool": { "folder": "/tmp/x", "megabytes": 8 },
                "metrics": {}, "homeAssistant": {}, "sparkplug": { "group": "plant", "primaryHost": "scada" },
                "leases": { "gateway": "001A7DDA7113", "prefix": "site", "confirmationSeconds": 5, "pulseSeconds": 1 },
                "commands": [{ "peripheral": "kitchen", "operations": ["read"], "characteristics": ["2A6E"] }]
            }
            """#
        )
        #expect(configuration.broker.port == 8883)
        #expect(configuration.peripherals.map(\.label) == ["kitchen", "Heart-"])
        #expect(configuration.metricsPort == 9464)
        #expect(configuration.homeAssistantPrefix == "homeassistant")
        #expect(configuration.advertisements?.window == 5)
        #expect(configuration.leases?.gateway?.description == "001A7DDA7113")
        #expect(configuration.sparkplug == .init(group: "plant", node: "c", primaryHost: "scada"))
        #expect(configuration.leases?.prefix == "site")
        #expect(configuration.leases?.terms.confirmation == 5000)
        #expect(configuration.leases?.terms.lease == 120_000)
    }

    @Test(
        "says where it stops being JSON",
        arguments: [
            ("{\n  \"prefix\": \"Küche\"\n  \"spool\": {}\n}", "line 3, column 3"),
            ("{\n  \"prefix\": \"a\",\n  'spool': {}\n}", "line 3, column 3"),
            ("{ \"spool\": {", "it ends"),
            ("", "it ends"),
        ]
    )
    func notJSON(_ text: String, _ place: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try read(text) }
        #expect(error.cause.contains(place), "\(error)")
    }

    @Test(
        "names the field and the remedy if something is wrong",
        arguments: [
            ("{", "", "Correct it."),
            (#"{ "spool": { "folder": "/x" }, "leases": { "gateway": "1A" } }"#, "leases.gateway", "12 hexadecimal"),
            (#"{ "spool": { "folder": "/x" }, "leases": { "pulseSeconds": 9 } }"#, "leases.pulseSeconds", "less"),
            (#"{ "spool": { "folder": "/x" }, "leases": { "renewalSeconds": 90 } }"#, "leases.renewalSeconds", "less"),
            (#"{ "spool": { "folder": "/x" }, "leases": { "trustsWills": 1 } }"#, "leases.trustsWills", "true or"),
            (#"{ "spool": { "folder": "/x" }, "campaigns": { "images": "/x" } }"#, "campaigns", "leases"),
            (#"{ "spool": { "folder": "/x" }, "sparkplug": {} }"#, "sparkplug.group", "the group"),
            (#"{ "spool": { "folder": "/x" }, "sparkplug": { "group": "a/b" } }"#, "sparkplug.group", "without /"),
            (
                #"{ "spool": { "folder": "/x" }, "broker": { "clientID": "a/b" }, "sparkplug": { "group": "g" } }"#,
                "sparkplug.node", "without /"
            ),
            ("{}", "spool", "folder"),
            (#"{ "spool": {} }"#, "spool.folder", "path of a folder"),
            (#"{ "spool": { "folder": "/x", "megabytes": 0 } }"#, "spool.megabytes", "from 1 to 65536"),
            (#"{ "spool": { "folder": "/x", "megabytes": 1.5 } }"#, "spool.megabytes", "whole number"),
            (#"{ "spool": { "folder": "/x" }, "prefix": "a/#" }"#, "prefix", "without +, # and $"),
            (#"{ "spool": { "folder": "/x" }, "brokr": {} }"#, "brokr", "broker, prefix"),
            (#"{ "spool": { "folder": "/x" }, "adapters": ["hci0", "hci1", "hci0"] }"#, "adapters[2]", "once"),
            (#"{ "spool": { "folder": "/x" }, "broker": { "port": "1" } }"#, "broker.port", "a number"),
            (#"{ "spool": { "folder": "/x" }, "broker": 1 }"#, "broker", "an object"),
            (
                #"{ "spool": { "folder": "/x" }, "broker": { "tls": { "authorities": "a", "key": "k" } } }"#,
                "broker.tls", "both, or none"
            ),
            (#"{ "spool": { "folder": "/x" }, "peripherals": [{}] }"#, "peripherals[0].address", "the address"),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "address": "C4" }] }"#, "peripherals[0].address",
                "C4:F2:17"
            ),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "name": "a", "characteristics": [{ "uuid": "x" }] }] }"#,
                "peripherals[0].characteristics[0].uuid", "2A6E"
            ),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "name": "a" }, { "name": "a" }] }"#,
                "peripherals[1].label", "label of its own"
            ),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "name": "a" }], "commands": [{ "peripheral": "a", "operations": ["erase"] }] }"#,
                "commands[0].operations[0]", "read, write"
            ),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "name": "a" }], "commands": [{ "peripheral": "a", "operations": ["update"] }] }"#,
                "commands[0].operations", "\"images\""
            ),
            (
                #"{ "spool": { "folder": "/x" }, "commands": [{ "peripheral": "b", "operations": [] }] }"#,
                "commands[0].peripheral", "label"
            ),
        ]
    )
    func wrong(_ text: String, _ field: String, _ remedy: String) {
        let error = #expect(throws: ConfigurationError.self) { try read(text) }
        #expect(error?.field == field)
        #expect(error?.remedy.contains(remedy) == true, "\(error?.remedy ?? "")")
    }

    @Test(
        "has a peripheral once if it is shared, since only one of its labels would be followed",
        arguments: [
            (
                #"{ "address": "C4:F2:17:1A:1D:BB", "label": "a" }"#, #"{ "address": "c4:f2:17:1a:1d:bb/public" }"#,
                "address"
            ),
            (#"{ "name": "Heart", "label": "a" }"#, #"{ "name": "Heart" }"#, "name"),
        ]
    )
    func sharedTwice(_ first: String, _ second: String, _ field: String) throws {
        let peripherals = #""spool": { "folder": "/x" }, "peripherals": [\#(first), \#(second)]"#
        let error = try #require(throws: ConfigurationError.self) { try read(#"{ \#(peripherals), "leases": {} }"#) }
        #expect(error.field == "peripherals[1].\(field)" && error.cause.contains("peripherals[0]"), "\(error)")
        #expect(try read("{ \(peripherals) }").peripherals.count == 2)
    }

    @Test(
        "names what may be a misspelt field where one is missing",
        arguments: [
            (#"{ "spol": {} }"#, "spool: it is missing, but there is 'spol'."),
            (#"{ "spool": { "Fodler": "/x" } }"#, "spool.folder: it is missing, but there is 'Fodler'."),
            (#"{ "spool": { "folders": "/x" } }"#, "spool.folder: it is missing, but there is 'folders'."),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "adress": "C4:F2:17:1A:1D:BB" }] }"#,
                "peripherals[0].address: it is missing, but there is 'adress'."
            ),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "nsme": "a" }] }"#,
                "peripherals[0].address: it is missing, but there is 'nsme'."
            ),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "name": "a", "characteristics": [{ "uid": "2A6E" }] }] }"#,
                "peripherals[0].characteristics[0].uuid: it is missing, but there is 'uid'."
            ),
            (#"{ "prefix": "a", "broker": {} }"#, "spool: it is missing. "),
            (
                #"{ "spool": { "folder": "/x" }, "peripherals": [{ "label": "a" }] }"#,
                "peripherals[0].address: it is missing. "
            ),
        ]
    )
    func misspelt(_ text: String, _ words: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try read(text) }
        #expect("\(error)".hasPrefix("configuration: \(words)"), "\(error)")
    }

    @Test("says of an empty string what to do", arguments: [#""prefix": """#, #""broker": { "host": "" }"#])
    func emptyString(_ field: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try read(#"{ "spool": { "folder": "/x" }, \#(field) }"#)
        }
        #expect(error.cause == "it is empty" && error.remedy == "Write a string, or leave the field out.")
    }

    @Test("refuses a field that is written twice, of which one would count for nothing")
    func twice() throws {
        let text = """
            { "spool": { "folder": "/x" }, "peripherals": [{ "name": "a", "label": "\\"name\\":" }, { "name": "b" }],
              "peripherals": [] }
            """
        let error = try #require(throws: ConfigurationError.self) { try read(text) }
        #expect(error.cause == "one object has 'peripherals' twice, for the second time in line 2")
        #expect(error.remedy == "Write each field once.")
        let escaped = try #require(throws: ConfigurationError.self) {
            try read(#"{ "spool": { "folder": "/x" }, "prefix": "a", "pr\u0065fix": "b" }"#)
        }
        #expect(escaped.cause == #"one object has 'pr\u0065fix' twice, for the second time in line 1"#)
    }

    @Test("refuses a characteristic that is written twice, whose values would be published twice")
    func characteristicTwice() throws {
        func read(_ second: String) throws(ConfigurationError) -> Configuration {
            try self.read(
                """
                { "spool": { "folder": "/x" }, "peripherals": [{ "name": "a", "characteristics": [
                  { "uuid": "2A19", "service": "180F" }, { "uuid": "2A6E" }, \(second)] }] }
                """
            )
        }
        let whole = "00002A6E-0000-1000-8000-00805F9B34FB"
        for second in [#"{ "uuid": "2A6E" }"#, #"{ "uuid": "\#(whole)" }"#] {
            let error = try #require(throws: ConfigurationError.self) { try read(second) }
            #expect(error.field == "peripherals[0].characteristics[2].uuid", "\(error)")
            #expect(error.cause.contains("characteristics[1]"), "\(error)")
        }
        // The first one of the type may be that of the service.
        let error = try #require(throws: ConfigurationError.self) { try read(#"{ "uuid": "2A19" }"#) }
        #expect(error.field == "peripherals[0].characteristics[2].uuid", "\(error)")
        #expect(error.cause.contains("characteristics[0]") && error.remedy.contains("service"), "\(error)")
        // It may be in several services.
        let other = try read(#"{ "uuid": "2A19", "service": "181A" }"#)
        #expect(other.peripherals[0].subscriptions.count == 3)
    }

    @Test("says which labels Home Assistant can't tell apart, where it is told of them")
    func labelsAlike() throws {
        func cautions(_ more: String) throws(ConfigurationError) -> [ConfigurationError] {
            try self.read(
                """
                { "spool": { "folder": "/x" }, \(more) "peripherals": [
                  { "name": "a", "label": "hall 1" }, { "name": "b", "label": "hall1" }, { "name": "c", "label": "hall_1" }
                ] }
                """
            ).cautions
        }
        #expect(try cautions("").isEmpty)
        let told = try cautions(#""homeAssistant": {},"#)
        #expect(told.map(\.field) == ["peripherals[2].label"])
        #expect(told.first?.cause.contains("'hall_1' from 'hall 1'") == true, "\(told)")
    }

    @Test("never traps on damaged text")
    func damaged() {
        let text = Array(#"{ "spool": { "folder": "/x", "megabytes": 7 }, "peripherals": [{ "name": "a" }] }"#.utf8)
        for end in text.indices {
            #expect(throws: ConfigurationError.self) { try Configuration(json: Array(text[..<end])) }
            var changed = text
            changed[end] = 0xFF
            _ = try? Configuration(json: changed)
        }
    }
}
