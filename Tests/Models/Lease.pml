/* The renewal of a provider's tokens: `ProviderGrant.renewalStep`, `renewed` and `lost`, `ProviderGrants+Renewal.swift` and
 * `+Settlement.swift`, over the same compare-and-swap as in Refresh. Two gateways find that the tokens are due. The provider
 * gives another refresh token each time, and takes a second use of one by another gateway for a theft. One gateway may die.
 *
 * Promises:
 *   usedByOne       With FAITHFUL, no restart of Redis: no refresh token is sent by two gateways, however long an answer takes.
 *   newOnesAreKept  With QUIET and FAITHFUL, no restart: at last the tokens that a living gateway got are in the record.
 *
 * Safeguards that a switch takes out: NO_LEASE (nobody looks at it), NO_LOSS (when a lease is over, the token is sent once
 * more), NO_SWAP (a lease does not look at what it replaces), NO_SETTLING (the new tokens are written once), NEW_ATTEMPT (they
 * are written again as another attempt, which takes what the first left for confirmed), NO_WAIT, NO_HOLD.
 *
 * Limits, which `check.sh` shows:
 *   Without FAITHFUL, a failover may lose a lease or a renewal that was confirmed, and so may a restart of Redis. The token that
 *   comes back is sent once more.
 *   With UNSENT_COUNTS: a lease whose write was not confirmed keeps the others away, and when it is over, they take a token for
 *   lost that nobody has sent, if its holder was not asked again in time.
 *
 * Left out: providers whose refresh tokens stay valid, and pauses after failures.
 */
/* One byte: the number of renewals, the holder of the lease (0: nobody), whether the refresh token counts as lost. */
#define GENERATION(v) ((v) & 3)
#define HOLDER(v) (((v) >> 2) & 3)
#define LOST(v) (((v) >> 4) & 1)
#define PACK(generation, holder, lost) ((generation) | ((holder) << 2) | ((lost) << 4))
#define FIRST PACK(0, 0, 0)
#define LOOKS 2

bool usedByOne = true;
bool newOnesAreKept = true;
bool sentBeforeLost = true;

inline promise(name, condition) {
    if
    :: (condition)
    :: else -> name = false; assert(name)
    fi
}

/* Who sent the first refresh token to the provider. */
byte sender;
/* A gateway has got new tokens, and lives. */
bool hasNew;
/* The lease's time is over. */
bool isOver;
byte deaths;

inline newReign() { skip }
inline gatewayMoved(g) { skip }

#include "Redis.pml"

/* The gateway dies at any step. */
#define mayDie deaths == 0 -> deaths++; hasNew = false; goto over

/* `Scripts.replace` at the server of gateway `g`. */
inline replace(g) {
    if
    :: isBlind || value(g) == judged -> isDone = true; write(g, next)
    :: else -> isDone = false
    fi
}

proctype Gateway(byte me) {
    byte g;
    byte looks;
    byte judged;
    byte next;
    byte under;
    byte place;
    bool isDone;
    bool isBlind;
    mtype answer;
    g = me - 1;

look:
    atomic {
        judged = 0; next = 0; under = 0; place = 0; isDone = false; isBlind = false; answer = 0;
        if
        :: looks == LOOKS -> goto over
        :: else -> looks++
        fi
    }
    atomic {
        if
        :: !serves(g) -> goto look
        :: else -> judged = value(g)
        fi;
        /* `renewalStep` */
        if
        :: GENERATION(judged) > 0 || LOST(judged) -> goto over
#ifndef NO_LEASE
        :: GENERATION(judged) == 0 && !LOST(judged) && HOLDER(judged) == 3 - me && !isOver -> goto look
#ifndef NO_LOSS
        :: GENERATION(judged) == 0 && !LOST(judged) && HOLDER(judged) == 3 - me && isOver ->
            next = PACK(0, 0, 1)
#endif
#endif
        :: else ->
            next = PACK(0, me, 0);
#ifdef NO_SWAP
            isBlind = true
#endif
        fi
    }
    atomic {
        if
        :: !serves(g) || holds(g) -> goto look
        :: mayDie
        :: serves(g) && !holds(g) ->
            sent();
            if
            :: true -> under = reignOf(g); replace(g); place = head
            :: true -> settled(); goto look
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        settled();
        if
        :: answer != confirmed_ || !isDone -> goto look
        :: answer == confirmed_ && isDone && LOST(next) ->
#ifdef UNSENT_COUNTS
            promise(sentBeforeLost, sender != 0 || deaths > 0);
#endif
            goto over
        :: answer == confirmed_ && isDone && !LOST(next) -> skip
        fi
    }
    /* `ProviderGrants.refresh`. An answer that is lost is asked for once more, which the provider allows. */
    atomic {
        if
        :: mayDie
        :: true ->
            promise(usedByOne, sender == 0 || sender == me);
            sender = me
        fi
    }
    atomic {
        if
        :: mayDie
        :: hasNew = true; next = PACK(1, 0, 0)
        /* Its second answer was lost, too. */
        :: next = PACK(0, 0, 1)
        fi
    }
settle:
    /* `settle`: read, judge and write until the store has it. */
    atomic {
        judged = 0; under = 0; place = 0; isDone = false; isBlind = false; answer = 0;
        if
        :: mayDie
        :: serves(g) -> judged = value(g)
        fi;
        if
#ifdef NEW_ATTEMPT
        :: GENERATION(judged) > 0 -> goto over
#else
        :: GENERATION(judged) > 0 && GENERATION(next) > 0 -> judged = next
        :: GENERATION(judged) > 0 && GENERATION(next) == 0 -> goto over
#endif
        :: else
        fi
    }
    atomic {
        if
        :: mayDie
        :: isBehind[g] && !serves(g) -> goto settle
        :: serves(g) && !holds(g) ->
            sent();
            if
            :: true -> under = reignOf(g); replace(g); place = head
            :: true -> under = reignOf(g)
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        settled();
        if
        :: answer == confirmed_ && isDone -> goto over
#ifdef NO_SETTLING
        :: else -> goto over
#else
        :: else -> goto settle
#endif
        fi
    }
over:
    atomic { g = 0; looks = 0; judged = 0; next = 0; under = 0; place = 0; isDone = false; isBlind = false; answer = 0 }
}

active proctype Time() {
end:
    do
    :: !isOver -> isOver = true
    od
}

#ifdef QUIET
active proctype Quiet() {
end:
    timeout -> promise(newOnesAreKept, !hasNew || (GENERATION(past[head]) == 1 && !LOST(past[head])))
}
#endif

init {
    atomic { run Gateway(1); run Gateway(2) }
}
