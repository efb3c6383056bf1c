import Campaigns
import Foundation
import Testing

@testable import Gateway

/// What an operator publishes as a plan.
@Suite struct CampaignPlanTests {
    private static let image = String(repeating: "0a", count: 32)

    private static func plan(_ more: String) -> String {
        #"{"image":"\#(image)","devices":["C4F2171A1DBB","C4F2171A1DBC"]\#(more)}"#
    }

    @Test func `a plan needs an image and devices, and nothing else`() throws {
        let plan = try CampaignPlan.reading(Array(Self.plan("").utf8))
        #expect(plan.image == Self.image && plan.devices.count == 2 && !plan.isStopped)
        #expect(try CampaignPlan.reading(Array(Self.plan(#","stopped":true"#).utf8)).isStopped)
    }

    @Test(arguments: [
        (plan(#","stoped":true"#), "there is no field 'stoped'; the fields are image, devices, "),
        (plan(#","canaries":3"#), "'canaries' is not a number from 1 to 2"),
        (plan(#","settled":0"#), "'settled' is not a number from 1 to 100"),
        (plan(#","wave":"ten""#), "'wave' must be a whole number"),
        (plan(#","stopped":"yes""#), "'stopped' must be true or false"),
        (#"{"image":null,"devices":["C4F2171A1DBB"]}"#, "'image' must be a text in quotes"),
        (#"{"image":"\#(image)","devices":"C4F2171A1DBB"}"#, "'devices' must be a list"),
        (#"{"image":"\#(image)","devices":[7]}"#, "each entry of 'devices' must be a text in quotes"),
        (plan(#","\u001b[2J\nstopped":true"#), #"there is no field '\u{1b}[2J\u{a}stopped'; the fields are"#),
        (#"{"devices":["C4F2171A1DBB"]}"#, "'image' is missing"),
        (#"{"image":"0a","devices":["C4F2171A1DBB"]}"#, "'image' is not a SHA-256"),
        (#"{"image":"\#(image)","devices":[]}"#, "'devices' has no entry"),
        (#"{"image":"\#(image)","devices":["C4F2171A1DBB","C4:F2:17:1A:1D:BB"]}"#, "'devices' has a device twice"),
        (#"{"image":"\#(image)","devices":["pump"]}"#, "'devices': a device has 12 hexadecimal digits"),
        ("[]", "it is not a JSON object"), ("spring", "JSON"),
    ])
    func `a plan that can't be used is refused with the reason`(_ text: String, _ cause: String) {
        let fault = #expect(throws: CampaignPlan.Fault.self) { try CampaignPlan.reading(Array(text.utf8)) }
        #expect(fault?.cause.contains(cause) == true, "\(fault?.cause ?? "")")
    }

    @Test(arguments: [
        plan(",\"" + String(repeating: "x", count: 100_000) + "\":1"),
        plan(",\"wave\":1" + String(repeating: "0", count: 100_000)),
    ])
    func `however long a plan's words are, the reason is short`(_ text: String) {
        let fault = #expect(throws: CampaignPlan.Fault.self) { try CampaignPlan.reading(Array(text.utf8)) }
        #expect((fault?.cause.count ?? .max) < 500, "\(fault?.cause.prefix(500) ?? "")")
    }
}
