import Testing
import Vocabulary

@Suite("Why something did not take place") struct NotDoneTests {
    @Test("An outage is no refusal, and is told apart by the reason alone") func outages() {
        let outages = Reason.allCases.filter { NotDone($0).isUnavailable }
        #expect(Set(outages) == [.storeUnavailable, .storeFull, .providerUnavailable, .gatewayOverloaded])
        #expect(Reason.allCases.filter { NotDone($0).isOfStore } == [.storeUnavailable, .storeFull])
    }

    @Test("What may pass is what has a time after which to ask again") func passing() {
        for reason in Reason.allCases {
            let mayPass = NotDone(reason).mayPass
            #expect(mayPass == [429, 503].contains(reason.status), "\(reason)")
        }
    }
}
