package import Endpoints
import Pages
import RequestPath

/// The answer that a browser gets, which loads a page: a page instead of a problem document.
package func shown(_ response: EndpointResponse) -> EndpointResponse {
    LocalAnswer(response).page(
        by: PageDesign.included.writer(0),
        requestID: RequestID(seed: 1, sequence: 1),
        isForm: false,
        hasHost: true,
        hasSignIn: true
    ).response
}
