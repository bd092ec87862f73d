%% The same small workloads as the project's own benchmark, on Erlang/OTP.
%% Prints one line a workload: name, unit, figure.
-module(peer_bench).
-export([main/1, start_child/0, child_init/1, init/1, handle_call/3, handle_cast/2, handle_info/2]).
-behaviour(gen_server).

main(Args) ->
    %% A supervisor's report of each crash would be measured too, and printed among the figures.
    logger:set_primary_config(level, none),
    Names = case Args of [] -> all(); _ -> [list_to_atom(A) || A <- Args] end,
    lists:foreach(fun(N) -> {Unit, V} = run(N), io:format("erlang ~s ~s ~.2f~n", [N, Unit, V * 1.0]) end, Names),
    halt(0).

all() -> [spawn_exit, spawn_monitor, idle_memory, ping_pong, call, ring, fan_in, skynet, pool_start, sup_restart,
          sup_restart_p99, one_for_all_1000, ets_lookup, ets_register, ets_lookup_100, ets_lookup_1000000_random].

timed(F) -> T0 = erlang:monotonic_time(nanosecond), R = F(), {(erlang:monotonic_time(nanosecond) - T0) / 1.0e9, R}.

run(spawn_exit) ->
    N = 1000000, Me = self(),
    {S, _} = timed(fun() ->
        [begin
            [spawn(fun() -> Me ! ok end) || _ <- lists:seq(1, 10000)],
            [receive ok -> ok end || _ <- lists:seq(1, 10000)]
         end || _ <- lists:seq(1, N div 10000)] end),
    {"op/s", N / S};
run(spawn_monitor) ->
    N = 1000000,
    {S, _} = timed(fun() ->
        [begin
            [spawn_monitor(fun() -> ok end) || _ <- lists:seq(1, 10000)],
            [receive {'DOWN', _, _, _, _} -> ok end || _ <- lists:seq(1, 10000)]
         end || _ <- lists:seq(1, N div 10000)] end),
    {"op/s", N / S};
run(idle_memory) ->
    N = 200000, erlang:garbage_collect(), M0 = erlang:memory(total),
    Ps = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, N)],
    M1 = erlang:memory(total), [P ! stop || P <- Ps], {"B/process", (M1 - M0) / N};
run(ping_pong) ->
    N = 2000000, P = spawn(fun pong/0), {S, _} = timed(fun() -> ping(P, N) end), P ! stop, {"roundtrip/s", N / S};
run(call) ->
    N = 1000000, {ok, P} = gen_server:start(?MODULE, [], []),
    {S, _} = timed(fun() -> calls(P, N) end), {"call/s", N / S};
run(ring) ->
    Procs = 10000, Hops = 5000000, Me = self(),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> ring_loop(Next) end) end, Me, lists:seq(1, Procs - 1)),
    First = Last,
    {S, _} = timed(fun() -> ring_main(First, Hops) end), First ! stop, {"hop/s", Hops / S};
run(fan_in) ->
    Senders = 8, Each = 500000, Me = self(),
    R = spawn(fun() -> sink(Senders * Each), Me ! done end),
    {S, _} = timed(fun() ->
        [spawn(fun() -> flood(R, Each) end) || _ <- lists:seq(1, Senders)], receive done -> ok end end),
    {"msg/s", Senders * Each / S};
run(skynet) ->
    Me = self(),
    {S, 499999500000} = timed(fun() -> spawn(fun() -> skynet(Me, 0, 1000000) end), receive {sum, X} -> X end end),
    {"actor/s", 1111111 / S};
run(pool_start) ->
    N = 100000, {ok, Sup} = sup(simple_one_for_one, 1000000, temporary),
    {S, _} = timed(fun() -> [{ok, _} = supervisor:start_child(Sup, []) || _ <- lists:seq(1, N)] end),
    stop(Sup), {"child/s", N / S};
run(sup_restart) -> {Mean, _} = restarts(), {"restart/s", 1.0e6 / Mean};
run(sup_restart_p99) -> {_, P99} = restarts(), {"us", P99};
run(one_for_all_1000) ->
    N = 1000, put(sup_children, N), {ok, Sup} = sup({many, one_for_all, N}, 1000000, permanent),
    {S, _} = timed(fun() -> [begin
        [{_, P, _, _} | _] = supervisor:which_children(Sup), M = monitor(process, P), exit(P, kill),
        receive {'DOWN', M, _, _, _} -> ok end,
        wait_all(Sup, N, P) end || _ <- lists:seq(1, 50)] end), stop(Sup), {"us/full restart", S * 1.0e6 / 50};
run(ets_lookup) -> ets_lookups(lists:seq(0, 9999));
run(ets_lookup_100) -> ets_lookups(lists:seq(0, 99));
run(ets_lookup_1000000_random) ->
    rand:seed(exsss, {1, 2, 3}),
    ets_lookups([I || {_, I} <- lists:sort([{rand:uniform(), I} || I <- lists:seq(0, 999999)])]);
run(ets_register) ->
    N = 1000000, T = ets:new(t, [set, public]),
    {S, _} = timed(fun() -> regs(T, N) end), {"register+unregister/s", N / S}.

%% The keys lie in memory in the order they are asked for.
ets_lookups(Numbers) ->
    N = 2000000, T = ets:new(t, [set, public, {read_concurrency, true}]),
    [ets:insert(T, {key(I), self()}) || I <- lists:sort(Numbers)],
    Ks = list_to_tuple([key(I) || I <- Numbers]),
    {S, _} = timed(fun() -> lookups(T, Ks, tuple_size(Ks), N) end), {"lookup/s", N / S}.

key(I) -> <<"agent-", (integer_to_binary(I))/binary>>.
lookups(_, _, _, 0) -> ok;
lookups(T, Ks, Size, N) -> [_] = ets:lookup(T, element((N rem Size) + 1, Ks)), lookups(T, Ks, Size, N - 1).
regs(_, 0) -> ok;
regs(T, N) -> K = key(N rem 10000), ets:insert_new(T, {K, self()}), ets:delete(T, K), regs(T, N - 1).

pong() -> receive {P, ping} -> P ! pong, pong(); stop -> ok end.
ping(_, 0) -> ok;
ping(P, N) -> P ! {self(), ping}, receive pong -> ping(P, N - 1) end.
calls(_, 0) -> ok;
calls(P, N) -> ok = gen_server:call(P, x), calls(P, N - 1).
ring_loop(Next) -> receive stop -> Next ! stop; I -> Next ! I, ring_loop(Next) end.
ring_main(_, N) when N =< 0 -> ok;
ring_main(First, N) -> First ! N, receive _ -> ring_main(First, N - 10000) end.
sink(0) -> ok;
sink(N) -> receive m -> sink(N - 1) end.
flood(_, 0) -> ok;
flood(R, N) -> R ! m, flood(R, N - 1).
skynet(Parent, Num, 1) -> Parent ! {sum, Num};
skynet(Parent, Num, Size) ->
    Sub = Size div 10, Me = self(),
    [spawn(fun() -> skynet(Me, Num + I * Sub, Sub) end) || I <- lists:seq(0, 9)],
    Parent ! {sum, lists:sum([receive {sum, X} -> X end || _ <- lists:seq(1, 10)])}.

restarts() ->
    register(bench_parent, self()), put(sup_children, 1),
    %% a fresh supervisor every 200 restarts: OTP's cost per restart grows with the restarts inside its window
    Ls = lists:sort(lists:append([restart_batch(200) || _ <- lists:seq(1, 100)])),
    unregister(bench_parent), N = length(Ls),
    {lists:sum(Ls) / N, lists:nth(N * 99 div 100, Ls)}.
restart_batch(N) ->
    {ok, Sup} = sup({many, one_for_one, 1}, 100000000, permanent), receive {up, _} -> ok end,
    Ls = [begin
        P = whereis(bench_child), T0 = erlang:monotonic_time(nanosecond), exit(P, kill),
        receive {up, Q} when Q =/= P -> (erlang:monotonic_time(nanosecond) - T0) / 1000 end
     end || _ <- lists:seq(1, N)],
    stop(Sup), flush(), Ls.
flush() -> receive _ -> flush() after 0 -> ok end.
wait_all(Sup, N, Dead) ->
    C = supervisor:which_children(Sup),
    case length([1 || {_, P, _, _} <- C, is_pid(P)]) =:= N andalso not lists:keymember(Dead, 2, C) of
        true -> ok;
        false -> wait_all(Sup, N, Dead)
    end.
stop(Sup) -> unlink(Sup), M = monitor(process, Sup), exit(Sup, shutdown), receive {'DOWN', M, _, _, _} -> ok end.

sup({many, Strategy, N}, I, Restart) ->
    supervisor:start_link(?MODULE, {sup, Strategy, I, [child_spec(X, Restart) || X <- lists:seq(1, N)]});
sup(Strategy, I, Restart) -> supervisor:start_link(?MODULE, {sup, Strategy, I, [child_spec(c, Restart)]}).
child_spec(Id, Restart) -> #{id => Id, start => {?MODULE, start_child, []}, restart => Restart}.
start_child() -> proc_lib:start_link(?MODULE, child_init, [self()]).
child_init(Parent) ->
    case whereis(bench_parent) of
        undefined ->
            case whereis(bench_child) of undefined -> catch register(bench_child, self()); _ -> ok end,
            proc_lib:init_ack(Parent, {ok, self()});
        B -> register(bench_child, self()), proc_lib:init_ack(Parent, {ok, self()}), B ! {up, self()} end,
    receive stop -> ok end.
init({sup, Strategy, I, Specs}) -> {ok, {#{strategy => Strategy, intensity => I, period => 1}, Specs}};
init([]) -> {ok, nil}.
handle_call(_, _, S) -> {reply, ok, S}.
handle_cast(_, S) -> {noreply, S}.
handle_info(_, S) -> {noreply, S}.
