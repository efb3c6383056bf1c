import Foundation
import Testing

/// What `--json` prints is what the schema says.
@Suite(.timeLimit(.minutes(10))) struct SchemaTests {
    /// As much of JSON Schema 2020-12 as `ble help --schema` uses.
    struct Validator {
        let definitions: [String: Any]

        static func load() async throws -> Validator {
            let run = try await CommandRun.run("help", "--schema", simulated: false)
            #expect(run.status == 0)
            let document = try object(run.output.first)
            #expect(document["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
            return Validator(definitions: try #require(document["$defs"] as? [String: Any]))
        }

        /// What is wrong with a value; `nil` where nothing is.
        func complaint(about value: Any, as schema: [String: Any], at place: String = "") -> String? {
            if let reference = schema["$ref"] as? String {
                let name = String(reference.split(separator: "/").last ?? "")
                guard let target = definitions[name] as? [String: Any] else { return "\(place): no definition \(name)" }
                return complaint(about: value, as: target, at: place)
            }
            if let choices = schema["oneOf"] as? [[String: Any]] {
                let complaints = choices.map { complaint(about: value, as: $0, at: place) }
                let fitting = complaints.count { $0 == nil }
                if fitting == 1 { return nil }
                return "\(place): \(fitting) shapes fit: \(complaints.compactMap { $0 }.joined(separator: "; "))"
            }
            if let words = schema["enum"] as? [String] {
                let isFitting = (value as? String).map { words.contains($0) } == true
                return isFitting ? nil : "\(place): \(value) is none of \(words)"
            }
            switch schema["type"] as? String {
            case nil: return nil
            case "string":
                guard let text = value as? String else { return "\(place): \(value) is no string" }
                guard let pattern = schema["pattern"] as? String else { return nil }
                let isFitting = text.range(of: pattern, options: .regularExpression) != nil
                return isFitting ? nil : "\(place): '\(text)' is not like \(pattern)"
            case "integer": return value is Int ? nil : "\(place): \(value) is no integer"
            case "number": return value is Double || value is Int ? nil : "\(place): \(value) is no number"
            case "boolean": return value is Bool ? nil : "\(place): \(value) is no truth"
            case "array":
                guard let list = value as? [Any], let items = schema["items"] as? [String: Any] else {
                    return "\(place): no list"
                }
                return list.lazy.compactMap { complaint(about: $0, as: items, at: place + "[]") }.first
            case "object": return complaint(aboutMembers: value, schema, place)
            case let other?: return "\(place): the test doesn't know the type \(other)"
            }
        }

        private func complaint(aboutMembers value: Any, _ schema: [String: Any], _ place: String) -> String? {
            guard let members = value as? [String: Any], let known = schema["properties"] as? [String: [String: Any]],
                let required = schema["required"] as? [String], schema["additionalProperties"] as? Bool == false
            else { return "\(place): no object" }
            if let missing = required.first(where: { members[$0] == nil }) { return "\(place).\(missing) is missing" }
            for (name, member) in members {
                guard let shape = known[name] else { return "\(place).\(name) is not in the schema" }
                if let complaint = complaint(about: member, as: shape, at: "\(place).\(name)") { return complaint }
            }
            return nil
        }
    }

    static let runs: [[String]] = [
        ["scan", "--timeout", "2"], ["scan", "--duplicates", "--count", "3"], ["info", Demo.heartRate],
        ["info", Demo.values], ["link", Demo.values, "--count", "1", "--timeout", "20"],
        ["read", Demo.heartRate, "2A38"], ["read", Demo.values, Demo.long], ["write", Demo.values, Demo.short, "00"],
        ["notify", Demo.heartRate, Demo.measurement, "--count", "2"],
        ["notify", Demo.heartRate, Demo.trouble, Demo.mute, "--timeout", "1"],
        ["notify", Demo.trouble, Demo.fickle, "--reconnect", "--count", "7"],
        ["transfer", Demo.transfer, Demo.message], ["verify", Demo.values], ["verify", Demo.heartRate],
        ["pair", Demo.values, "--just-works"], ["unpair", Demo.values], ["bonds"], ["oob"], ["adapter"],
        ["proxy", "--make-key"],
        ["adapter", "phys"], ["adapter", "privacy"], ["doctor"], ["read", Demo.absent, "2A38", "--timeout", "0.5"],
    ]

    @Test(arguments: runs) func `each line has the shape that the schema names`(_ arguments: [String]) async throws {
        let validator = try await Validator.load()
        let run = try await CommandRun(arguments + ["--json"], simulated: arguments != ["doctor"]).end()
        let schema = try #require(validator.definitions[arguments[0]] as? [String: Any])
        for line in run.output {
            #expect(validator.complaint(about: try object(line), as: schema) == nil, "\(line)")
        }
        let failure = try #require(validator.definitions["failure"] as? [String: Any])
        for line in run.errors where line.hasPrefix("{") {
            #expect(validator.complaint(about: try object(line), as: failure) == nil, "\(line)")
        }
    }

    @Test(
        arguments: [
            ["serve"], ["advertise", "--eddystone-url", "https://example.com"], ["proxy", "--listen", "127.0.0.1:0"],
        ]
    )
    func `what runs until Ctrl-C keeps to the schema`(_ arguments: [String]) async throws {
        let validator = try await Validator.load()
        let schema = try #require(validator.definitions[arguments[0]] as? [String: Any])
        let end = ["serve": "disconnected", "proxy": "listening"][arguments[0]] ?? "advertising"
        let run = try await CommandRun(arguments + ["--json"], interruptedAt: end, in: .output).end()
        #expect(run.status == 130 && !run.output.isEmpty)
        for line in run.output {
            #expect(validator.complaint(about: try object(line), as: schema) == nil, "\(line)")
        }
    }

    @Test func `an update keeps to the schema`() async throws {
        let validator = try await Validator.load()
        let schema = try #require(validator.definitions["update"] as? [String: Any])
        try await withFolder { folder in
            let file = folder.appending(path: "image.bin")
            try UpdateTests.image(20_000).write(to: file)
            let run = try await CommandRun.run("update", Demo.update, file.path, "--json")
            #expect(run.status == 0 && run.output.count > 10)
            for line in run.output {
                #expect(validator.complaint(about: try object(line), as: schema) == nil, "\(line)")
            }
        }
    }

    @Test func `a line that deviates is noticed`() async throws {
        let validator = try await Validator.load()
        let schema = try #require(validator.definitions["read"] as? [String: Any])
        let good = #"{"value":"00","time":"2026-11-20T13:00:37.536379Z"}"#
        #expect(validator.complaint(about: try object(good), as: schema) == nil)
        for bad in [
            #"{"value":"0","time":"2026-11-20T13:00:37.536379Z"}"#, #"{"value":"00"}"#,
            #"{"value":"00","time":"2026-11-20T13:00:37.536379Z","more":1}"#, #"{"value":0,"time":"now"}"#,
        ] {
            #expect(validator.complaint(about: try object(bad), as: schema) != nil, "\(bad)")
        }
    }

    @Test func `every subcommand that prints objects is in the schema`() async throws {
        let names = try await Validator.load().definitions.keys
        let printing = HelpTests.commands.filter { !["help", "completions", "shell"].contains($0) }
        #expect(Set(names) == Set(printing + ["failure", "error"]))
    }
}
